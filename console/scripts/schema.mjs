// Generates src/api/schema.d.ts from the server's OpenAPI document; --check only compares.
//
// The first line of the file holds a digest of the document, so that a test without Node can check
// whether the file is stale.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import openapiTS, { astToString } from "openapi-typescript";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "..", "..");
const target = join(here, "..", "src", "api", "schema.d.ts");
const python = process.env.PYTHON ?? join(root, ".venv", "bin", "python");

const program = `
import json
from fairlane import Fairlane
print(json.dumps(Fairlane("memory://").asgi().openapi(), sort_keys=True))
`;
const text = execFileSync(python, ["-c", program], { encoding: "utf-8" }).trim();
const digest = createHash("sha256").update(text).digest("hex");
const types = astToString(await openapiTS(JSON.parse(text)));
const made = `// Made by \`npm run schema\` from the OpenAPI document ${digest}.\n${types}`;

if (process.argv.includes("--check")) {
  if (readFileSync(target, "utf-8") !== made) {
    console.error("src/api/schema.d.ts differs from the server's OpenAPI document; run: npm run schema");
    process.exit(1);
  }
} else {
  writeFileSync(target, made);
}
