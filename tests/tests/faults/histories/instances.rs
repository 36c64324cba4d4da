//! Three instances on one database, and their disturbances.

use std::net::SocketAddr;
use std::sync::Mutex;
use std::thread::sleep;
use std::time::Duration;

use fastrand::Rng;
use tests::stores::TestDatabase;
use tests::{Gate, Service, wait_until};

/// Ways to disturb instances and database.
pub const WAYS: usize = 8;

/// Disturbances in rapid succession.
const BURST: u32 = 10;

const OTHERS: &str = "FROM pg_stat_activity WHERE datname = current_database() \
                      AND backend_type = 'client backend' AND pid <> pg_backend_pid()";

pub struct Instances {
    database: TestDatabase,
    all: [Instance; 3],
}

struct Instance {
    gate: Gate,
    /// The database through the gate.
    database: TestDatabase,
    /// `None` while it is killed.
    service: Mutex<Option<Service>>,
}

impl Instances {
    pub fn start() -> Self {
        let database = TestDatabase::postgres();
        let all = [(); 3].map(|()| {
            let (gate, url) = Gate::before(&database);
            let database = TestDatabase::existing(&url);
            let service = Mutex::new(Some(Service::start_on(&database)));
            Instance { gate, database, service }
        });
        Self { database, all }
    }

    /// The address of an instance, unless it is killed.
    pub fn address(&self, at: usize) -> Option<SocketAddr> {
        self.all[at].service.lock().unwrap().as_ref().map(Service::address)
    }

    pub fn another(&self, at: usize, random: &mut Rng) -> usize {
        (at + random.usize(1..self.all.len())) % self.all.len()
    }

    /// Disturbs an instance or the database for some time.
    pub fn disturb(&self, way: usize, random: &mut Rng) {
        let instance = &self.all[random.usize(..self.all.len())];
        let time = Duration::from_millis(random.u64(100..2_500));
        let half = random.u32(..3);
        let end_connections = || {
            self.database.query(&format!(
                "SELECT CAST(pg_terminate_backend(pid) AS text) {OTHERS} AND ({half} = 0 OR pid % 2 = {half} % 2)"
            ));
        };
        match way {
            0 => instance.kill_and_start(time / 4),
            // Again and again, so that some statements have no answer although they are committed.
            1 => (0..BURST).for_each(|_| {
                end_connections();
                sleep(time / BURST);
            }),
            2 => (0..BURST).for_each(|_| {
                instance.gate.shut();
                instance.gate.open();
                sleep(time / BURST);
            }),
            3 | 4 => instance.suspend(|| {
                sleep(time / 2);
                if way == 4 {
                    end_connections();
                }
                sleep(time / 2);
            }),
            _ => {
                [Gate::silence, Gate::shut, Gate::hold][way - 5](&instance.gate);
                sleep(time);
                instance.gate.open();
            }
        }
    }

    /// Kills all instances, ends their work in the database, and starts another instance.
    pub fn replace(&self) -> Service {
        for instance in &self.all {
            drop(instance.service.lock().unwrap().take());
        }
        let end = format!("SELECT CAST(pg_terminate_backend(pid) AS text) {OTHERS}");
        wait_until(|| self.database.query(&end).is_empty());
        Service::start_on(&self.database)
    }
}

impl Instance {
    /// No client connects to the address of a killed instance.
    fn kill_and_start(&self, pause: Duration) {
        let service = self.service.lock().unwrap().take();
        drop(service);
        sleep(pause);
        let again = Service::start_on(&self.database);
        *self.service.lock().unwrap() = Some(again);
    }

    fn suspend(&self, meanwhile: impl FnOnce()) {
        let signal = |signal: fn(&Service)| signal(self.service.lock().unwrap().as_ref().unwrap());
        signal(Service::suspend);
        meanwhile();
        signal(Service::resume);
    }
}
