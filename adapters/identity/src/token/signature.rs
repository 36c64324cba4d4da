//! Verification of signatures: `jsonwebtoken` with the cryptography of ring.
//!
//! The default provider `aws-lc-rs` takes minutes to build and would add a second cryptography
//! library. The other one uses crates with a known weakness (RUSTSEC-2023-0071). See
//! `docs/adr/0093-verification-of-access-tokens.md`.

use jsonwebtoken::crypto::{CryptoProvider, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind, Result as LibraryResult};
use jsonwebtoken::signature::{Error as SignatureError, Verifier};
use jsonwebtoken::{Algorithm as Library, DecodingKey, DecodingKeyKind, Validation, decode};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA256, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey,
    VerificationAlgorithm,
};
use serde::de::IgnoredAny;

use super::Algorithm;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InvalidSignature {
    Signature,
    Content,
}

/// Verifies the algorithm, the signature, `iss` and `aud`. The library parses the token again.
/// Times are checked elsewhere, by the port of the clock.
pub(crate) fn verify(
    token: &str,
    key: &DecodingKey,
    algorithm: Algorithm,
    (issuer, audiences): (&str, &[Box<str>]),
) -> Result<(), InvalidSignature> {
    // Only this function installs a provider.
    let _ = PROVIDER.install_default();
    let mut validation = Validation::new(algorithm.of_library());
    validation.validate_exp = false;
    validation.validate_nbf = false;
    validation.set_required_spec_claims(&["iss", "aud"]);
    validation.set_issuer(&[issuer]);
    validation.set_audience(audiences);
    match decode::<IgnoredAny>(token, key, &validation) {
        Ok(_) => Ok(()),
        Err(error) => Err(match error.kind() {
            ErrorKind::Json(_)
            | ErrorKind::Utf8(_)
            | ErrorKind::MissingRequiredClaim(_)
            | ErrorKind::InvalidClaimFormat(_)
            | ErrorKind::InvalidIssuer
            | ErrorKind::InvalidAudience => InvalidSignature::Content,
            _ => InvalidSignature::Signature,
        }),
    }
}

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |_, _| Err(unsupported()),
    verifier_factory: |algorithm, key| verifier(*algorithm, key),
    key_utils: KeyUtils {
        rsa_pub_components_from_private_key: |_| Err(unsupported()),
        rsa_pub_components_from_public_key: |_| Err(unsupported()),
        ec_pub_components_from_private_key: |_, _| Err(unsupported()),
        ed_pub_components_from_private_key: |_, _| Err(unsupported()),
        compute_digest: |_, _| Err(unsupported()),
    },
};

fn unsupported() -> Error {
    ErrorKind::UnsupportedAlgorithm.into()
}

#[derive(Clone, Copy)]
enum Primitive {
    Rsa(&'static RsaParameters),
    Other(&'static dyn VerificationAlgorithm),
}

struct RingVerifier {
    algorithm: Library,
    primitive: Primitive,
    key: DecodingKey,
}

fn verifier(algorithm: Library, key: &DecodingKey) -> LibraryResult<Box<dyn JwtVerifier>> {
    let primitive = match algorithm {
        Library::RS256 => Primitive::Rsa(&RSA_PKCS1_2048_8192_SHA256),
        Library::PS256 => Primitive::Rsa(&RSA_PSS_2048_8192_SHA256),
        Library::ES256 => Primitive::Other(&ECDSA_P256_SHA256_FIXED),
        Library::ES384 => Primitive::Other(&ECDSA_P384_SHA384_FIXED),
        Library::EdDSA => Primitive::Other(&ED25519),
        _ => return Err(unsupported()),
    };
    if key.family() != algorithm.family() {
        return Err(ErrorKind::InvalidKeyFormat.into());
    }
    Ok(Box::new(RingVerifier { algorithm, primitive, key: key.clone() }))
}

impl Verifier<Vec<u8>> for RingVerifier {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), SignatureError> {
        let verified = match (self.primitive, self.key.kind()) {
            (Primitive::Rsa(parameters), DecodingKeyKind::RsaModulusExponent { n, e }) => {
                RsaPublicKeyComponents { n, e }.verify(parameters, message, signature)
            }
            (Primitive::Other(algorithm), DecodingKeyKind::SecretOrDer(key)) => {
                UnparsedPublicKey::new(algorithm, key).verify(message, signature)
            }
            _ => return Err(SignatureError::new()),
        };
        verified.map_err(|_| SignatureError::new())
    }
}

impl JwtVerifier for RingVerifier {
    fn algorithm(&self) -> Library {
        self.algorithm
    }
}
