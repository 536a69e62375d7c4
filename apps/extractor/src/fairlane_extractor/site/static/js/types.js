// The types of the API, for editors and for `tsc --checkJs`.

/**
 * @typedef {"created" | "pending" | "parsing" | "downloading" | "extracting" | "merging"
 *   | "completed" | "failed" | "cancelled"} Status
 *
 * @typedef {object} StageProgress
 * @property {string} stage
 * @property {"pending" | "running" | "done" | "skipped" | "error"} status
 * @property {number} progress
 * @property {string | null} message
 * @property {string | null} started_at
 * @property {string | null} finished_at
 *
 * @typedef {object} Branch
 * @property {string} name
 * @property {"used" | "skipped" | "failed"} status
 * @property {string | null} method
 * @property {number} segments
 * @property {string | null} code
 * @property {string | null} reason
 *
 * @typedef {object} Summary
 * @property {string} title
 * @property {number | null} seconds
 * @property {string | null} language
 * @property {number} lines
 * @property {number} characters
 * @property {boolean} has_media
 * @property {Branch[]} branches
 *
 * @typedef {object} Meta
 * @property {Record<string, string | null>} options
 * @property {"high" | "normal" | "low"} priority
 * @property {string | null} position
 * @property {number} attempt
 * @property {boolean} stopping
 * @property {string[]} waiting_for
 * @property {string | null} started_at
 * @property {string | null} ended_at
 *
 * @typedef {object} Task
 * @property {string} id
 * @property {string} input
 * @property {string} platform
 * @property {Status} status
 * @property {number} progress
 * @property {Record<string, StageProgress>} stage_progress
 * @property {Summary | null} result
 * @property {{code: string, message: string} | null} error
 * @property {string} created_at
 * @property {string} updated_at
 * @property {Meta} meta
 *
 * @typedef {{items: Task[], next: string | null}} TaskPage
 *
 * @typedef {object} Line
 * @property {number} start
 * @property {number} end
 * @property {string} text
 * @property {string[]} sources
 * @property {number | null} confidence
 * @property {string | null} language
 * @property {number} paragraph
 *
 * @typedef {object} Result
 * @property {string} id
 * @property {string} input
 * @property {string} platform
 * @property {string} title
 * @property {number | null} seconds
 * @property {string | null} language
 * @property {string | null} [media_path]
 * @property {string | number} created_at
 * @property {Branch[]} branches
 * @property {Line[]} lines
 *
 * @typedef {object} Hit
 * @property {string} id
 * @property {string} title
 * @property {string} platform
 * @property {number | null} line
 * @property {number} start
 * @property {string} text
 * @property {{text: string, is_match: boolean}[]} parts
 *
 * @typedef {{items: Hit[], next: string | null}} HitPage
 *
 * @typedef {{type: "progress", taskId: string, stage: string, progress: number,
 *   message: string | null, status: StageProgress["status"], total: number}} Progress
 */

export {};
