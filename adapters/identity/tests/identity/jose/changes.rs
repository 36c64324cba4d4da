//! Tokens that are made of accepted ones by random changes: of their letters, their form, their
//! signature, or of members of their header and claims, after which most are signed again.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use fastrand::Rng;
use serde_json::{Value, json};

use crate::attacks::filled;
use crate::support::{Issuer, Signer, encode};

const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const OTHER_LETTERS: &[&str] = &[".", "=", "+", "/", " ", "\n", "\t", "\0", "%", "\"", "é", "~"];

/// Members of headers, each with some values as JSON.
const HEADERS: &[(&str, &[&str])] = &[
    ("alg", &["\"RS256\"", "\"PS256\"", "\"ES256\"", "\"ES384\"", "\"EdDSA\""]),
    ("alg", &["\"none\"", "\"HS256\"", "\"RS512\"", "\"PS384\"", "\"ES512\"", "\"ES256K\""]),
    ("alg", &["\"es256\"", "\"Ed25519\"", "\"RS256 \"", "\"\"", "[\"RS256\"]"]),
    ("typ", &["\"at+jwt\"", "\"AT+JWT\"", "\"application/at+jwt\"", "\"APPLICATION/at+JWT\""]),
    ("typ", &["\"JWT\"", "\"jwt\"", "\"at+jwt \"", "\"text/at+jwt\"", "\"at+jwt;a=b\"", "\"\""]),
    ("kid", &["\"rs\"", "\"ps\"", "\"es\"", "\"es-384\"", "\"ed\"", "\"second\""]),
    ("kid", &["\"other\"", "\"\"", "\"ES\"", "\"es\\u0000\"", "[\"es\"]", "\"\\u0065s\""]),
    ("crit", &["[]", "[\"exp\"]", "[\"b64\"]", "[\"crit\"]", "\"exp\"", "null"]),
    ("b64", &["true", "false", "null", "\"false\""]),
    ("zip", &["\"DEF\"", "null"]),
    ("enc", &["\"A128GCM\"", "null"]),
    ("jku", &["\"https://evil.example/keys\"", "1"]),
    ("jwk", &["{}", "{\"kty\":\"oct\",\"k\":\"AAAA\"}", "null"]),
    ("x5c", &["[\"MIIB\"]", "[]"]),
    ("cty", &["\"JWT\"", "\"json\""]),
    ("iss", &["\"ISS\"", "\"https://evil.example\""]),
    ("x", &["1", "\"y\"", "[1,{\"a\":null}]", "{\"alg\":\"none\"}"]),
];

/// Claims, each with some values as JSON. `ISS` is the issuer, `NOW+n` a time.
const CLAIMS: &[(&str, &[&str])] = &[
    ("iss", &["\"ISS\"", "\"ISS/\"", "[\"ISS\"]", "\"https://evil.example\"", "\" ISS\"", "null"]),
    ("aud", &["\"https://proposals.example\"", "[\"https://proposals.example\"]"]),
    ("aud", &["[\"a\",\"https://proposals.example\"]", "[\"https://proposals.example\",\"b\"]"]),
    ("aud", &["[\"https://proposals.example\",5]", "[[\"https://proposals.example\"]]", "[]"]),
    ("aud", &["\"https://proposals.example/\"", "\"HTTPS://proposals.example\"", "\"account\""]),
    ("exp", &["NOW+1", "NOW+600.5", "NOW+86400", "NOW+86399", "NOW-29", "18.000006e8"]),
    ("exp", &["NOW-30", "NOW-31", "NOW-31.5", "NOW-30.5", "NOW-29.999", "0", "-1", "1e400"]),
    ("exp", &["NOW+86401", "NOW+31536000", "1e17", "\"NOW+600\"", "[NOW+600]", "null", "true"]),
    ("iat", &["NOW-1", "NOW+29", "NOW+30", "NOW+30.5", "NOW+31", "NOW-85800", "NOW-85801", "0"]),
    ("iat", &["\"NOW+0\"", "null", "false", "-1", "1.8e9", "NOW-86400", "NOW-86431"]),
    ("nbf", &["NOW+0", "NOW+30", "NOW+30.5", "NOW+31", "0", "NOW-600", "1e9", "-1"]),
    ("nbf", &["\"0\"", "null", "[]", "1e400"]),
    ("sub", &["\"bob\"", "\"Ana\"", "\"\\u0061na\"", "\"añá\"", "\"🐟\"", "\"x y\""]),
    ("sub", &["\"\"", "7", "null", "[\"ana\"]", "\"a\\nb\"", "\"a\\u0000\"", "\"\\ud800\""]),
    ("client_id", &["\"importer\"", "\"\"", "1", "null"]),
    ("azp", &["\"portal\"", "\"other\"", "1"]),
    ("scope", &["\"\"", "\"a b\"", "[\"a\"]", "null"]),
    ("scp", &["\"a\"", "[\"a\",\"b\"]", "[1]"]),
    ("act", &["{\"sub\":\"robot\"}", "{\"sub\":\"robot\",\"iss\":\"ISS\"}", "{}", "\"robot\""]),
    ("act", &["{\"sub\":\"robot\",\"iss\":\"https://other.example\"}", "{\"sub\":7}"]),
    ("jti", &["\"1\"", "\"2\"", "\"3\"", "\"4\"", "5"]),
    ("auth_time", &["NOW-60", "0", "\"0\""]),
    ("acr", &["\"1\"", "1"]),
    ("amr", &["[\"pwd\"]", "[]", "\"pwd\""]),
    ("cnf", &["{\"jkt\":\"x\"}", "{}", "null"]),
    ("email", &["\"ana@example.org\"", "null"]),
    ("name", &["\"Ana\"", "\"\"", "7", "{\"first\":\"Ana\"}"]),
    ("exp2", &["0", "\"NOW+0\""]),
    ("n", &["1", "2", "3", "4.5", "1e-7", "12345678901234567890", "-0"]),
    ("https://agency.example/roles", &["[]", "[\"a\"]", "[\"b\",[\"c\"]]"]),
    ("groups", &["[\"a\",\"b\"]", "[]", "{\"a\":1}"]),
    ("roles", &["[\"a\"]", "\"a\"", "[1,2.5,-3e7,true,null]"]),
    ("__proto__", &["{\"iss\":\"ISS\"}", "null"]),
];

/// Values for any member, between spaces; the last is empty.
const ANY: &str = "null true false 0 -0.0 1 1e9 1e400 \"\" \"x\" [] {} [[]] \"\\ud800\" 01 +1 .5 NaN 'x' \"\u{1}\" ";

/// The members of an object as they are written: one may be there twice, or be no JSON.
#[derive(Clone)]
struct Written(Vec<(String, String)>);

impl Written {
    fn of(object: &Value) -> Self {
        let members = object.as_object().expect("an object").iter();
        Self(members.map(|(name, value)| (name.clone(), value.to_string())).collect())
    }

    fn put(&mut self, name: &str, json: String) {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, value)) => *value = json,
            None => self.0.push((name.to_owned(), json)),
        }
    }

    /// Changes one member or adds one, out of these.
    fn change(&mut self, known: &[(&str, &[&str])], iss: &str, random: &mut Rng) {
        let (name, values) = *random.choice(known).expect("members");
        match random.u8(..20) {
            0..16 => {
                let value = random.choice(values).expect("values");
                self.put(name, filled(value, iss));
            }
            16 => {
                let any: Vec<_> = ANY.split(' ').collect();
                self.put(name, random.choice(any).expect("values").to_owned());
            }
            17 if !self.0.is_empty() => drop(self.0.remove(random.usize(..self.0.len()))),
            18 if random.bool() => self.0.extend(random.choice(&self.0.clone()).cloned()),
            18 => {
                // The same name once more, in other letters of JSON.
                if let Some((name, value)) = random.choice(&self.0.clone()) {
                    let (first, rest) = (name.as_bytes().first().unwrap_or(&b'x'), name.get(1..));
                    let name = format!("\\u{first:04x}{}", rest.unwrap_or_default());
                    self.0.push((name, value.clone()));
                }
            }
            _ => random.shuffle(&mut self.0),
        }
    }

    fn text(&self, random: &mut Rng) -> String {
        let members = self.0.iter().map(|(name, json)| format!("\"{name}\":{json}"));
        let (members, with_space) = (members.collect::<Vec<_>>(), random.u8(..8) == 0);
        match random.u8(..60) {
            0 => format!("[{{{}}}]", members.join(",")),
            1 => format!("\u{feff}{{{}}}", members.join(",")),
            2 => format!("{{{}}}{{}}", members.join(",")),
            3 => format!("{{{},}}", members.join(",")),
            _ if with_space => format!(" {{\n{} }}\t", members.join(" , ")),
            _ => format!("{{{}}}", members.join(",")),
        }
    }
}

/// Changed tokens without end.
pub struct Changes<'a> {
    random: Rng,
    signers: &'a [Signer],
    issuer: &'a Issuer,
    /// A token of each key.
    unchanged: Vec<String>,
    /// Another token of each key, of another subject.
    others: Vec<String>,
}

impl<'a> Changes<'a> {
    pub fn new(seed: u64, signers: &'a [Signer], issuer: &'a Issuer) -> Self {
        let other = json!({"sub": "bob"});
        let of_other = |signer| issuer.token_with(signer, &other);
        let unchanged = signers.iter().map(|signer| issuer.token(signer)).collect();
        let others = signers.iter().map(of_other).collect();
        Self { random: Rng::with_seed(seed), signers, issuer, unchanged, others }
    }

    pub fn unchanged(&self) -> &[String] {
        &self.unchanged
    }

    /// Makes a changed token, and names the algorithm of the token that it is made of.
    pub fn make(&mut self) -> (&'static str, String) {
        let which = self.random.usize(..self.signers.len());
        let token = match self.random.u8(..20) {
            0..4 => self.letters(which),
            4..6 => self.form(which),
            6..8 => self.signature(which),
            _ => self.members(which),
        };
        (self.signers[which].algorithm, token)
    }

    fn parts(&self, which: usize) -> [String; 3] {
        let parts: Vec<_> = self.unchanged[which].split('.').map(str::to_owned).collect();
        parts.try_into().expect("three parts")
    }

    fn part_of_another(&mut self, part: usize) -> String {
        let tokens = if self.random.bool() { &self.unchanged } else { &self.others };
        let token = self.random.choice(tokens).expect("tokens");
        token.split('.').nth(part).expect("three parts").to_owned()
    }

    fn letter(&mut self) -> String {
        match self.random.u8(..5) {
            0 => (*self.random.choice(OTHER_LETTERS).expect("letters")).to_owned(),
            _ => char::from(*self.random.choice(LETTERS.as_bytes()).expect("letters")).to_string(),
        }
    }

    /// One to three letters are others, more, fewer, or exchanged.
    fn letters(&mut self, which: usize) -> String {
        let mut letters: Vec<_> = self.unchanged[which].chars().map(String::from).collect();
        for _ in 0..self.random.usize(1..=3) {
            let at = self.random.usize(..letters.len());
            match self.random.u8(..4) {
                0 | 1 => letters[at] = self.letter(),
                2 => letters.insert(at, self.letter()),
                _ if self.random.bool() => drop(letters.remove(at)),
                _ => letters.swap(at, self.random.usize(..self.unchanged[which].len() / 2)),
            }
        }
        letters.concat()
    }

    /// The same bytes in another form of base64, or the parts put together in another way.
    fn form(&mut self, which: usize) -> String {
        let mut parts = self.parts(which);
        let at = self.random.usize(..3);
        match self.random.u8(..9) {
            0 => parts[at].push_str(if self.random.bool() { "=" } else { "==" }),
            1 => parts[at] = parts[at].replace('-', "+").replace('_', "/"),
            2 => parts[at] = self.with_other_last_letter(&parts[at]),
            3 => {
                let place = self.random.usize(..=parts[at].len());
                let space = *self.random.choice(&[" ", "\n", "\r\n", "\t", "%20"]).expect("spaces");
                parts[at].insert_str(place, space);
            }
            4 => parts[at] = self.part_of_another(at),
            5 => parts[at].clear(),
            6 => return format!("{}.{}", parts.join("."), parts[at]),
            7 => self.random.shuffle(&mut parts),
            _ => {
                let length = self.random.usize(..self.unchanged[which].len());
                return self.unchanged[which][..length].to_owned();
            }
        }
        parts.join(".")
    }

    /// The last letter may have bits that decode to nothing.
    fn with_other_last_letter(&mut self, part: &str) -> String {
        let (rest, last) = part.split_at(part.len() - 1);
        let index = LETTERS.find(last).expect("base64url") ^ self.random.usize(1..4);
        format!("{rest}{}", &LETTERS[index..=index])
    }

    fn signature(&mut self, which: usize) -> String {
        let [header, payload, signature] = self.parts(which);
        let mut bytes = URL_SAFE_NO_PAD.decode(signature).expect("base64url");
        let half = bytes.len() / 2;
        match self.random.u8(..9) {
            0 => bytes.truncate(self.random.usize(..bytes.len())),
            1 => bytes.extend((0..self.random.usize(1..40)).map(|_| self.random.u8(..))),
            2 => bytes.fill(if self.random.bool() { 0 } else { 255 }),
            3 => {
                let at = self.random.usize(..bytes.len());
                bytes[at] ^= 1 << self.random.u8(..8);
            }
            4 => bytes.rotate_left(half),
            5 => bytes.insert(0, self.random.u8(..3)),
            6 => bytes.iter_mut().for_each(|byte| *byte = self.random.u8(..)),
            7 => bytes[..half].fill(0),
            _ => return format!("{header}.{payload}.{}", self.part_of_another(2)),
        }
        format!("{header}.{payload}.{}", encode(bytes))
    }

    /// One to three members of header and claims are changed; most of these tokens are signed
    /// again, by the key that they name or by another.
    fn members(&mut self, which: usize) -> String {
        let signer = &self.signers[which];
        let mut header = Written::of(&signer.header());
        let mut claims = Written::of(&self.issuer.payload());
        let count = if self.random.bool() { 1 } else { self.random.usize(2..=3) };
        for _ in 0..count {
            match self.random.u8(..4) {
                0 => header.change(HEADERS, &self.issuer.url, &mut self.random),
                _ => claims.change(CLAIMS, &self.issuer.url, &mut self.random),
            }
        }
        let (header, claims) = (header.text(&mut self.random), claims.text(&mut self.random));
        match self.random.u8(..20) {
            0 => {
                let signature = self.part_of_another(2);
                format!("{}.{}.{signature}", encode(header), encode(claims))
            }
            1 => self.random.choice(self.signers).expect("keys").token(&header, &claims),
            _ => signer.token(&header, &claims),
        }
    }
}
