//! The id of a session, and the secrets that are derived from it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::error::Unspecified;
use ring::hmac::{self, HMAC_SHA256};
use ring::rand::{SecureRandom as _, SystemRandom};
use sha2::{Digest as _, Sha256};

const LENGTH: usize = 32;

/// The inputs of the derivations, which are HMACs with the id as key (RFC 2104).
const PAGE: &[u8] = b"page token";
const ENCRYPTION: &[u8] = b"encryption of the token";

/// 256 random bits. Has no `Debug`, so that it is never logged.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionId([u8; LENGTH]);

impl SessionId {
    pub fn new() -> Result<Self, Unspecified> {
        let mut bits = [0; LENGTH];
        SystemRandom::new().fill(&mut bits)?;
        Ok(Self(bits))
    }

    pub fn parse(text: &[u8]) -> Option<Self> {
        Some(Self(URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()?))
    }

    pub fn text(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    pub fn digest(&self) -> String {
        URL_SAFE_NO_PAD.encode(Sha256::digest(self.0))
    }

    /// The token that pages send with writes. Other web sites cannot read it.
    pub fn page_token(&self) -> String {
        URL_SAFE_NO_PAD.encode(hmac::sign(&self.key(), PAGE))
    }

    /// Compares in constant time.
    pub fn has_page_token(&self, text: &[u8]) -> bool {
        let decoded = URL_SAFE_NO_PAD.decode(text);
        decoded.is_ok_and(|tag| hmac::verify(&self.key(), PAGE, &tag).is_ok())
    }

    /// Encrypts the token of a caller. Another caller's name does not decrypt it.
    pub fn encrypt(&self, token: &str, caller: &str) -> Result<String, Unspecified> {
        let mut text = token.as_bytes().to_vec();
        let (key, nonce) = self.cipher()?;
        key.seal_in_place_append_tag(nonce, Aad::from(caller), &mut text)?;
        Ok(URL_SAFE_NO_PAD.encode(text))
    }

    pub fn decrypt(&self, encrypted: &str, caller: &str) -> Option<String> {
        let mut text = URL_SAFE_NO_PAD.decode(encrypted).ok()?;
        let (key, nonce) = self.cipher().ok()?;
        let token = key.open_in_place(nonce, Aad::from(caller), &mut text).ok()?;
        String::from_utf8(token.to_vec()).ok()
    }

    fn key(&self) -> hmac::Key {
        hmac::Key::new(HMAC_SHA256, &self.0)
    }

    /// The nonce is constant: a key encrypts one token.
    fn cipher(&self) -> Result<(LessSafeKey, Nonce), Unspecified> {
        let key = UnboundKey::new(&AES_256_GCM, hmac::sign(&self.key(), ENCRYPTION).as_ref())?;
        Ok((LessSafeKey::new(key), Nonce::assume_unique_for_key([0; NONCE_LEN])))
    }
}

#[cfg(test)]
mod tests {
    use super::SessionId;

    #[test]
    fn an_id_is_read_only_as_it_was_written() {
        let id = SessionId::new().unwrap();
        let text = id.text();
        assert_eq!(text.len(), 43);
        assert!(SessionId::parse(text.as_bytes()).is_some_and(|read| read == id));
        assert!(SessionId::new().unwrap() != id);
        for wrong in [
            "",
            &text[1..],
            &format!("{text}="),
            &format!("{text}A"),
            &format!(" {text}"),
            &format!("{}+", &text[1..]),
            &"A".repeat(100_000),
        ] {
            assert!(SessionId::parse(wrong.as_bytes()).is_none(), "{wrong}");
        }
    }

    #[test]
    fn only_the_id_decrypts_a_token_and_only_for_its_caller() {
        let (id, other) = (SessionId::new().unwrap(), SessionId::new().unwrap());
        let encrypted = id.encrypt("psk_ana_secret", "key:ana").unwrap();
        assert!(!encrypted.contains("psk") && !encrypted.contains(&id.text()));
        assert_eq!(id.decrypt(&encrypted, "key:ana").as_deref(), Some("psk_ana_secret"));
        assert_eq!(id.decrypt(&encrypted, "key:ben"), None);
        assert_eq!(other.decrypt(&encrypted, "key:ana"), None);
        for changed in [&encrypted[2..], &format!("A{}", &encrypted[1..]), "", "%"] {
            assert!(*changed == *encrypted || id.decrypt(changed, "key:ana").is_none());
        }
    }

    #[test]
    fn the_token_of_a_page_belongs_to_one_session_and_is_none_of_its_other_secrets() {
        let (id, other) = (SessionId::new().unwrap(), SessionId::new().unwrap());
        let token = id.page_token();
        assert!(id.has_page_token(token.as_bytes()));
        for wrong in
            [other.page_token(), id.text(), id.digest(), token[1..].to_owned(), String::new()]
        {
            assert!(!id.has_page_token(wrong.as_bytes()), "{wrong}");
        }
    }
}
