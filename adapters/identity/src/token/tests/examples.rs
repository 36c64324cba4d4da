//! The examples of the RFCs whose algorithms are accepted.

use serde_json::json;

use super::is_accepted;

const RSA_KEY: &str = "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ";
const PAYLOAD: &str = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";

/// RFC 7515 appendix A.2: RS256.
#[test]
fn rfc_7515_a_2() {
    let key = json!({"keys": [{"kty": "RSA", "n": RSA_KEY, "e": "AQAB"}]});
    let signature = "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
    assert!(is_accepted(&format!("eyJhbGciOiJSUzI1NiJ9.{PAYLOAD}.{signature}"), &key));
    assert!(!is_accepted(&format!("eyJhbGciOiJSUzI1NiJ9.{PAYLOAD}A.{signature}"), &key));
}

/// RFC 7515 appendix A.3: ES256.
#[test]
fn rfc_7515_a_3() {
    let key = json!({"keys": [{
        "kty": "EC", "crv": "P-256",
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    }]});
    let signature =
        "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
    assert!(is_accepted(&format!("eyJhbGciOiJFUzI1NiJ9.{PAYLOAD}.{signature}"), &key));
}

/// RFC 7515 appendices A.1 (HS256), A.4 (ES512) and A.5 (`none`): algorithms that are not accepted.
#[test]
fn rfc_7515_what_is_not_accepted() {
    let key = json!({"keys": [{
        "kty": "oct",
        "k": "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow",
    }]});
    let signature = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    let header = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9";
    assert!(!is_accepted(&format!("{header}.{PAYLOAD}.{signature}"), &key));
    assert!(!is_accepted(&format!("eyJhbGciOiJub25lIn0.{PAYLOAD}."), &key));
    assert!(!is_accepted(&format!("eyJhbGciOiJFUzUxMiJ9.{PAYLOAD}.{signature}"), &key));
}

/// RFC 8037 appendix A.4: `EdDSA`.
#[test]
fn rfc_8037_a_4() {
    let key = json!({"keys": [{
        "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
    }]});
    let payload = "RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
    let signature =
        "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
    assert!(is_accepted(&format!("eyJhbGciOiJFZERTQSJ9.{payload}.{signature}"), &key));
    assert!(!is_accepted(&format!("eyJhbGciOiJFZERTQSJ9.{payload}.{}", &signature[1..]), &key));
}
