// Verdicts of another implementation about access tokens: those of the library jose, asked to be as strict as it can be. The test
// identity::jose of the identity crate compares them with the service's.
//
//     node jose.mjs FILE
//
// The file has JSON on each line: first the settings with the keys, then tokens. Printed is a line for each token, "accepted" or
// the code of the error.
import { readFileSync } from "node:fs";
import { createLocalJWKSet, errors, jwtVerify } from "jose";

const [settings, ...tokens] = readFileSync(process.argv[2], "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
const keys = createLocalJWKSet(settings.jwks);
const options = {
    issuer: settings.issuer,
    audience: settings.audience,
    algorithms: settings.algorithms,
    typ: "at+jwt",
    currentDate: new Date(settings.now * 1000),
    clockTolerance: settings.leeway,
    maxTokenAge: settings.longestLifetime,
    requiredClaims: ["exp", "iat"],
};

async function verdict(token) {
    try {
        await jwtVerify(token, keys, options);
        return "accepted";
    } catch (error) {
        // Anything else would be an error of this program, which must not pass for a refusal.
        if (error instanceof errors.JOSEError) return error.code;
        throw error;
    }
}

const verdicts = [];
for (const token of tokens) verdicts.push(await verdict(token));
console.log(verdicts.join("\n"));
