// An error response of the server as an exception that the console can show.

export interface FieldProblem {
  where: string;
  message: string;
}

interface Facts {
  status: number;
  code: string;
  detail: string;
  hint?: string;
  active_job?: string | null;
  legal?: string[] | null;
  problems?: FieldProblem[] | null;
}

export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly hint: string;
  readonly active_job: string | null;
  readonly legal: readonly string[];
  readonly problems: readonly FieldProblem[];

  constructor(facts: Facts) {
    super(facts.detail);
    this.name = "Problem";
    this.status = facts.status;
    this.code = facts.code;
    this.detail = facts.detail;
    this.hint = facts.hint ?? "";
    this.active_job = facts.active_job ?? null;
    this.legal = facts.legal ?? [];
    this.problems = facts.problems ?? [];
  }

  /** The server is unreachable or temporarily unavailable: a later request may succeed. */
  get isPassing(): boolean {
    return this.status === 0 || this.status === 503 || this.status === 502 || this.status === 504;
  }
}

/** Make a problem of an error response. A proxy may have sent it, so no field is certain. */
export function problemFrom(status: number, body: unknown, title: string): Problem {
  const facts = typeof body === "object" && body !== null ? (body as Partial<Facts>) : {};
  return new Problem({
    ...facts,
    status,
    code: typeof facts.code === "string" ? facts.code : `http_${status}`,
    detail: typeof facts.detail === "string" ? facts.detail : title || `HTTP ${status}`,
  });
}

/** Make a problem of any thrown value. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const detail = error instanceof Error ? error.message : String(error);
  return new Problem({ status: 0, code: "failed", detail });
}
