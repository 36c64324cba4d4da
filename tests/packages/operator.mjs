// Validates objects of the Prometheus operator, an array of JSON on standard input, by the schemas of their definitions; and, since
// those ignore unknown members, by the compiler, which refuses them in a literal.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as definitions from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1";

const here = dirname(fileURLToPath(import.meta.url));
const objects = JSON.parse(readFileSync(0, "utf8"));
for (const object of objects) {
    new definitions[object.kind](object).validate();
}

const folder = mkdtempSync(join(here, "node_modules", ".operator-"));
try {
    const module = "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1";
    const kinds = [...new Set(objects.map((object) => `I${object.kind}`))];
    const literals = objects.map((object) => `(${JSON.stringify(object)}) satisfies I${object.kind};`);
    const file = join(folder, "objects.ts");
    writeFileSync(file, `import type { ${kinds.join(", ")} } from "${module}";\n${literals.join("\n")}\n`);
    const options = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--target", "es2022"];
    execFileSync(join(here, "node_modules", ".bin", "tsc"), [...options, file], { stdio: ["ignore", "inherit", "inherit"] });
} finally {
    rmSync(folder, { recursive: true });
}
