// Whether a task would take its options, asked before the first file is sent.

import { submit } from "../api/calls";
import { asProblem } from "../api/problem";
import type { Submission } from "../api/types";
import { sortProblems } from "../forms/problems";
import type { Params } from "./options";
import type { Target } from "./targets";

/**
 * No parameter has such a name: a submission that has one is refused, whatever else it holds. It is
 * not empty, because what is wrong with the empty name is said of "parameters", which may be a name.
 */
const NAMELESS = " ";

/** Return what the program finds wrong with options, by their names. */
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
