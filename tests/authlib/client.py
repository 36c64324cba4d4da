"""Programs that sign in with tokens of a second issuer (issuer.py), which they get with their own credentials. Tokens for the service
are accepted. Authlib's default tokens are refused, each for the reason in docs/identity.md.

    python client.py ISSUER BASE_URL_OF_THE_SERVICE
"""

import base64
import json
import os
import sys
import time

# Both ends are on this machine.
os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"

import requests
from authlib.integrations.requests_client import OAuth2Session
from joserfc import jwt
from joserfc.jwk import RSAKey

ISSUER, SERVICE = sys.argv[1:]
SECRET = "a secret of a test, which protects nothing"


def token_of(client):
    """A token of a program (RFC 6749 section 4.4)."""
    endpoint = requests.get(f"{ISSUER}/.well-known/openid-configuration", timeout=10).json()["token_endpoint"]
    return OAuth2Session(client, SECRET, scope="proposals.write").fetch_token(endpoint, grant_type="client_credentials")["access_token"]


def send(method, path, token, **body):
    return requests.request(method, f"{SERVICE}{path}", headers={"Authorization": f"Bearer {token}"}, timeout=30, **body)


def part(token, index):
    encoded = token.split(".")[index]
    return json.loads(base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))


def refused(token, reason):
    answer = send("GET", "/v1/files", token)
    assert answer.status_code == 401, answer.text
    problem = answer.json()
    assert problem["code"] == "invalid-token" and reason in problem["detail"], answer.text
    assert 'error="invalid_token"' in answer.headers["WWW-Authenticate"], answer.headers


token = token_of("importer")
assert part(token, 0)["typ"] == "at+jwt" and part(token, 1)["aud"] == SERVICE, token
answer = send("GET", "/v1/files", token)
assert answer.status_code == 200, answer.text
made = send("POST", "/v1/files", token, json={"filename": "by a program"})
assert made.status_code == 201, made.text
history = send("GET", f"/v1/files/{made.json()['id']}/versions", token).json()
(version,) = history["_embedded"]["versions"]
assert (version["caller"], version["client"]) == ("authlib:importer", "importer"), version

# By default the audience is the client, as in an ID token.
elsewhere = token_of("elsewhere")
assert part(elsewhere, 1)["aud"] == "elsewhere", elsewhere
refused(elsewhere, "another audience")
# A program's tokens are good for ten days.
forever = token_of("forever")
assert part(forever, 1)["exp"] - part(forever, 1)["iat"] == 864_000, forever
refused(forever, "valid for longer than allowed")
# The right claims under a signature of other ones.
header, claims, _ = token.split(".")
refused(f"{header}.{claims}.{forever.split('.')[2]}", "signature is wrong")

# A token of an unreachable issuer cannot be verified: the answer is not a refusal, and the client may retry.
now = int(time.time())
claims = {"iss": "http://127.0.0.1:9", "aud": SERVICE, "sub": "x", "client_id": "x", "iat": now, "exp": now + 600}
unknown = send("GET", "/v1/files", jwt.encode({"alg": "RS256", "typ": "at+jwt"}, claims, RSAKey.generate_key(2048)))
assert unknown.status_code == 503 and int(unknown.headers["Retry-After"]) > 0, unknown.text
assert "WWW-Authenticate" not in unknown.headers, unknown.headers

print(f"Programs with tokens of {ISSUER} are known")
