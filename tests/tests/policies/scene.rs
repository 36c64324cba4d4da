//! A service over a random store, under policies that change.

use fastrand::Rng;
use tests::Store;

use crate::building::fill;
use crate::model::{Caller, Model};
use crate::policies::{BUILDING, PolicySet};
use crate::world::{Callers, World, on_each_store, soon};

const CALLERS: [Caller; 5] = [
    Caller { name: "ana", role: "applicant" },
    Caller { name: "ben", role: "applicant" },
    Caller { name: "rita", role: "" },
    Caller { name: "sam", role: "" },
    Caller { name: "anonymous", role: "" },
];

const KEYS: [(&str, &str); 6] = [
    ("ana", "applicant"),
    ("ben", "applicant"),
    ("cyd", "applicant"),
    ("rita", ""),
    ("sam", ""),
    ("staff", "staff"),
];

pub struct Sizes {
    pub writes: usize,
    pub generated: usize,
    pub callers: usize,
    pub requests: usize,
    pub hidden_writes: usize,
}

fn sizes() -> Sizes {
    if std::env::var("TEST_POLICIES").is_ok_and(|size| size == "full") {
        Sizes { writes: 400, generated: 12, callers: 5, requests: 300, hidden_writes: 20 }
    } else {
        Sizes { writes: 150, generated: 2, callers: 2, requests: 120, hidden_writes: 8 }
    }
}

pub struct Scene {
    pub world: World,
    pub model: Model,
    pub middle: String,
    pub random: Rng,
    /// All are reported together.
    pub faults: Vec<String>,
}

impl Scene {
    fn new(store: Store, seed: u64, writes: usize) -> Self {
        let mut random = Rng::with_seed(seed);
        let callers = Callers::new(&KEYS);
        std::fs::create_dir(callers.path("policies")).unwrap();
        callers.write_file("policies/first.yaml", BUILDING);
        let folder = callers.path("policies");
        let service = callers.serve(store, &["--policies", folder.to_str().unwrap()]);
        let world = World { callers, service };
        let (model, middle) = fill(&mut random, &world, writes);
        Self { world, model, middle, random, faults: Vec::new() }
    }

    /// Puts a set of policies in force.
    fn enforce(&self, set: &PolicySet) {
        let folder = self.world.callers.path("policies");
        let edition = || {
            let shown = self.world.service.get("/policies").send().expect(200);
            shown.text().to_owned()
        };
        let before = edition();
        let next = self.world.callers.path("next-policies");
        std::fs::create_dir(&next).unwrap();
        for (name, text) in &set.files {
            std::fs::write(next.join(format!("{name}.yaml")), text).unwrap();
        }
        let last = self.world.callers.path("last-policies");
        std::fs::rename(&folder, &last).unwrap();
        std::fs::rename(&next, &folder).unwrap();
        std::fs::remove_dir_all(&last).unwrap();
        self.world.service.hang_up();
        soon("a reload", || edition() != before);
    }
}

/// Runs a test on each store, under each set of policies, for some of the callers. `generated` is a
/// factor of the number of generated sets.
pub fn for_each_caller(
    generated: usize,
    test: impl Fn(Store, &mut Scene, &PolicySet, Caller, &Sizes),
) {
    let seed = tests::number("TEST_SEED", fastrand::u64(..));
    println!("TEST_SEED={seed} does the same again");
    let sizes = sizes();
    on_each_store(|store| {
        let mut scene = Scene::new(store, seed, sizes.writes);
        let mut sets = PolicySet::fixed();
        let count = generated * sizes.generated;
        sets.extend((0..count).map(|_| PolicySet::random(&mut scene.random)));
        for set in &sets {
            scene.enforce(set);
            let mut callers = CALLERS.to_vec();
            scene.random.shuffle(&mut callers);
            for caller in callers.into_iter().take(sizes.callers) {
                test(store, &mut scene, set, caller, &sizes);
            }
        }
        assert!(scene.faults.is_empty(), "{}", scene.faults.join("\n\n"));
    });
}
