"""A second issuer of access tokens (RFC 9068), by an implementation that shares nothing with the first: Authlib, in Python.

    python issuer.py PORT BASE_URL_OF_THE_SERVICE
"""

import os
import sys
from dataclasses import dataclass

# Both ends are on this machine.
os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"

from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import ClientMixin
from authlib.oauth2.rfc6749.grants import ClientCredentialsGrant
from authlib.oauth2.rfc9068 import JWTBearerTokenGenerator
from flask import Flask, jsonify
from joserfc.jwk import RSAKey

PORT, SERVICE = sys.argv[1:]
ISSUER = f"http://127.0.0.1:{PORT}"
SECRET = "a secret of a test, which protects nothing"
KEY = RSAKey.generate_key(2048, {"kid": "authlib", "use": "sig", "alg": "RS256"})


@dataclass
class Client(ClientMixin):
    """A program. Without an audience and a lifetime, its tokens have those that Authlib gives by default."""

    client_id: str
    audience: str | None = None
    lifetime: int | None = None

    def get_client_id(self):
        return self.client_id

    def get_allowed_scope(self, scope):
        return scope or ""

    def check_client_secret(self, client_secret):
        return client_secret == SECRET

    def check_endpoint_auth_method(self, method, endpoint):
        return method == "client_secret_basic"

    def check_grant_type(self, grant_type):
        return grant_type == "client_credentials"


CLIENTS = {
    client.client_id: client
    for client in [
        Client("importer", SERVICE, 600),
        Client("elsewhere", None, 600),
        Client("forever", SERVICE, None),
    ]
}


class Tokens(JWTBearerTokenGenerator):
    """Access tokens as Authlib makes them, for an audience that the client has."""

    def get_jwks(self):
        return KEY

    def get_audiences(self, client, user, scope):
        return client.audience or super().get_audiences(client, user, scope)

    def _get_expires_in(self, client, grant_type):
        return client.lifetime or super()._get_expires_in(client, grant_type)


app = Flask(__name__)
server = AuthorizationServer(app, query_client=CLIENTS.get, save_token=lambda token, request: None)
server.register_grant(ClientCredentialsGrant)
server.register_token_generator("default", Tokens(ISSUER))


@app.get("/.well-known/openid-configuration")
def configuration():
    return jsonify(
        issuer=ISSUER,
        jwks_uri=f"{ISSUER}/keys",
        token_endpoint=f"{ISSUER}/token",
        grant_types_supported=["client_credentials"],
        token_endpoint_auth_methods_supported=["client_secret_basic"],
    )


@app.get("/keys")
def keys():
    return jsonify(keys=[KEY.as_dict(private=False)])


@app.post("/token")
def token():
    return server.create_token_response()


if __name__ == "__main__":
    app.run("127.0.0.1", int(PORT))
