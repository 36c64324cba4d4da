//! Callers are recognized by tokens of issuers and by keys of the service, and by nothing else.

mod attacks;
mod callers;
mod examples;
mod hostile_issuer;
mod jose;
mod limits;
mod machine_keys;
mod mutations;
mod reading;
mod secrecy;
mod support;
mod tls;
