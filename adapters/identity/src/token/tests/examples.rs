//! The examples of the RFCs: signatures by algorithms that are accepted here, and by others.

use serde_json::json;

use super::{KeySet, TokenHeader, is_accepted};

const RSA_KEY: &str = "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ";
const PAYLOAD: &str = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
const COOKBOOK_RSA_KEY: &str = "n4EPtAOCc9AlkeQHPzHStgAbgs7bTZLwUBZdR8_KuKPEHLd4rHVTeT-O-XV2jRojdNhxJWTDvNd7nqQ0VEiZQHz_AJmSCpMaJMRBSFKrKb2wqVwGU_NsYOYL-QtiWN2lbzcEe6XC0dApr5ydQLrHqkHHig3RBordaZ6Aj-oBHqFEHYpPe7Tpe-OfVfHd1E6cS6M1FZcD1NNLYD5lFHpPI9bTwJlsde3uhGqC0ZCuEHg8lhzwOHrtIQbS0FVbb9k3-tVTU4fg_3L_vniUFAKwuCLqKnS2BYwdq_mzSnbLY7h_qixoR7jig3__kRhuaxwUkRz5iaiQkqgc5gHdrNP5zw";
const COOKBOOK_PAYLOAD: &str = "SXTigJlzIGEgZGFuZ2Vyb3VzIGJ1c2luZXNzLCBGcm9kbywgZ29pbmcgb3V0IHlvdXIgZG9vci4gWW91IHN0ZXAgb250byB0aGUgcm9hZCwgYW5kIGlmIHlvdSBkb24ndCBrZWVwIHlvdXIgZmVldCwgdGhlcmXigJlzIG5vIGtub3dpbmcgd2hlcmUgeW91IG1pZ2h0IGJlIHN3ZXB0IG9mZiB0by4";
const PS384: &str = "cu22eBqkYDKgIlTpzDXGvaFfz6WGoz7fUDcfT0kkOy42miAh2qyBzk1xEsnk2IpN6-tPid6VrklHkqsGqDqHCdP6O8TTB5dDDItllVo6_1OLPpcbUrhiUSMxbbXUvdvWXzg-UD8biiReQFlfz28zGWVsdiNAUf8ZnyPEgVFn442ZdNqiVJRmBqrYRXe8P_ijQ7p8Vdz0TTrxUeT3lm8d9shnr2lfJT8ImUjvAA2Xez2Mlp8cBE5awDzT0qI0n6uiP1aCN_2_jLAeQTlqRHtfa64QQSUmFAAjVKPbByi7xho0uTOcbH510a6GYmJUAfmWjwZ6oD4ifKo8DYM-X72Eaw";
const ES512: &str = "AE_R_YZCChjn4791jSQCrdPZCNYqHXCTZH0-JZGYNlaAjP2kqaluUIIUnC9qvbu9Plon7KRTzoNEuT4Va2cmL1eJAQy3mtPBu_u_sDDyYjnAMDxXPn7XrT0lw-kvAD890jl8e2puQens_IEKBpHABlsbEPX6sFY8OcGDqoRuBomu9xQ2";
const HS256: &str = "s0h6KThzkfBBBkLspW1h84VsJZFTsPPqMDA7g1Md7p0";
const PS384_HEADER: &str =
    "eyJhbGciOiJQUzM4NCIsImtpZCI6ImJpbGJvLmJhZ2dpbnNAaG9iYml0b24uZXhhbXBsZSJ9";
const ES512_HEADER: &str =
    "eyJhbGciOiJFUzUxMiIsImtpZCI6ImJpbGJvLmJhZ2dpbnNAaG9iYml0b24uZXhhbXBsZSJ9";
const HS256_HEADER: &str =
    "eyJhbGciOiJIUzI1NiIsImtpZCI6IjAxOGMwYWU1LTRkOWItNDcxYi1iZmQ2LWVlZjMxNGJjNzAzNyJ9";
const BILBO: &str = "bilbo.baggins@hobbiton.example";

/// RFC 7515 appendices A.2 (RS256) and A.3 (ES256), RFC 8037 appendix A.4 (`EdDSA`).
#[test]
fn right_signatures_are_accepted_and_others_are_not() {
    let rsa = json!({"kty": "RSA", "n": RSA_KEY, "e": "AQAB"});
    let ec = json!({
        "kty": "EC", "crv": "P-256",
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    });
    let x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
    let ed = json!({"kty": "OKP", "crv": "Ed25519", "x": x});
    for (key, header, payload, signature) in [
        (
            rsa,
            "eyJhbGciOiJSUzI1NiJ9",
            PAYLOAD,
            "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw",
        ),
        (
            ec,
            "eyJhbGciOiJFUzI1NiJ9",
            PAYLOAD,
            "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
        ),
        (
            ed,
            "eyJhbGciOiJFZERTQSJ9",
            "RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
            "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
        ),
    ] {
        let keys = json!({"keys": [key]});
        assert!(is_accepted(&format!("{header}.{payload}.{signature}"), &keys), "{header}");
        assert!(!is_accepted(&format!("{header}.{payload}A.{signature}"), &keys), "{header}");
        assert!(
            !is_accepted(&format!("{header}.{payload}.{}", &signature[1..]), &keys),
            "{header}"
        );
    }
}

/// RFC 7520 section 4.1: RS256, with a `kid`.
#[test]
fn rfc_7520_4_1() {
    let key = json!({"kty": "RSA", "kid": BILBO, "use": "sig", "n": COOKBOOK_RSA_KEY, "e": "AQAB"});
    let header = "eyJhbGciOiJSUzI1NiIsImtpZCI6ImJpbGJvLmJhZ2dpbnNAaG9iYml0b24uZXhhbXBsZSJ9";
    let signature = "MRjdkly7_-oTPTS3AXP41iQIGKa80A0ZmTuV5MEaHoxnW2e5CZ5NlKtainoFmKZopdHM1O2U4mwzJdQx996ivp83xuglII7PNDi84wnB-BDkoBwA78185hX-Es4JIwmDLJK3lfWRa-XtL0RnltuYv746iYTh_qHRD68BNt1uSNCrUCTJDt5aAE6x8wW1Kt9eRo4QPocSadnHXFxnt8Is9UzpERV0ePPQdLuW3IS_de3xyIrDaLGdjluPxUAhb6L2aXic1U12podGU0KLUQSE_oI-ZnmKJ3F4uOZDnd6QZWJushZ41Axf_fcIe8u9ipH84ogoree7vjbU5y18kDquDg";
    let signed = format!("{header}.{COOKBOOK_PAYLOAD}.{signature}");
    assert!(is_accepted(&signed, &json!({"keys": [key]})));
    // The same signature and key are not of another algorithm, nor is the key found by another name.
    for (name, value) in [("alg", "PS256"), ("kid", "frodo.baggins@hobbiton.example")] {
        let mut other = key.clone();
        other[name] = value.into();
        assert!(!is_accepted(&signed, &json!({"keys": [other]})), "{name}");
    }
}

/// RFC 7520 sections 4.2 (PS384), 4.3 (ES512) and 4.4 (HS256). The signatures are right. PS384: a longer digest makes
/// RSA no stronger; the key stays in the set for RS256 and PS256. ES512: ring has no P-521, so the key is left out.
/// HS256: everyone who can verify by a shared secret can also sign with it, so it is left out with a warning.
#[test]
fn right_signatures_by_other_algorithms_are_refused() {
    let rsa = json!({"kty": "RSA", "kid": BILBO, "use": "sig", "n": COOKBOOK_RSA_KEY, "e": "AQAB"});
    let ec = json!({
        "kty": "EC", "kid": BILBO, "use": "sig", "crv": "P-521",
        "x": "AHKZLLOsCOzz5cY97ewNUajB957y-C-U88c3v13nmGZx6sYl_oJXu9A5RkTKqjqvjyekWF-7ytDyRXYgCF5cj0Kt",
        "y": "AdymlHvOiLxXkEhayXQnNCvDX4h9htZaCJN34kfmC6pV5OhQHiraVySsUdaQkAgDPrwQrJmbnX9cwlGfP-HqHZR1",
    });
    let secret = json!({
        "kty": "oct", "kid": "018c0ae5-4d9b-471b-bfd6-eef314bc7037", "use": "sig", "alg": "HS256",
        "k": "hJtXIZ2uSN5kbQfbtTNWbpdmhkV8FJG-Onbc6mxCcYg",
    });
    for (key, header, signature, keys_and_warnings) in [
        (rsa, PS384_HEADER, PS384, (1, 0)),
        (ec, ES512_HEADER, ES512, (0, 0)),
        (secret, HS256_HEADER, HS256, (0, 1)),
    ] {
        let keys = json!({"keys": [key]});
        assert!(!is_accepted(&format!("{header}.{COOKBOOK_PAYLOAD}.{signature}"), &keys), "{key}");
        let reason = TokenHeader::read(header).err().expect("a refusal");
        assert_eq!(reason, "the token is signed with an algorithm that is not accepted");
        let set = KeySet::read(keys.to_string().as_bytes()).expect("a set of keys");
        assert_eq!((set.len(), set.warnings.len()), keys_and_warnings, "{key}");
    }
}
