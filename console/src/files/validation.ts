// Validates the options of a task before the first file is uploaded.

import { submit } from "../api/calls";
import { asProblem } from "../api/problem";
import type { Submission } from "../api/types";
import { sortProblems } from "../forms/problems";
import type { Params } from "./options";
import type { Target } from "./targets";

/**
 * An unknown parameter name: a submission that has it is always refused, so nothing is submitted.
 * The name is not empty, because the server reports an empty name as "parameters", which could be
 * the name of a real parameter.
 */
const NAMELESS = " ";

/** Return the problems that the server reports, by name of the option. */
export async function problemsWith(
  { task, options }: Target,
  params: Params,
): Promise<Readonly<Record<string, string>>> {
  if (Object.keys(params).length === 0) return {};
  try {
    await submit({ task, params: { ...params, [NAMELESS]: null } } as unknown as Submission);
    return {};
  } catch (error) {
    const problem = asProblem(error);
    if (problem.code !== "bad_parameters") throw problem;
    return sortProblems(problem.problems, options.map(({ name }) => name)).fields;
  }
}
