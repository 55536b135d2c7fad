import type { Words } from '../operation-options.ts'

/** How a call is written, to be made or to be previewed. */
export const callWords = {
  capability: ['capability', 'its id: see `ambit capabilities list`'],
  payload: ['--payload <json>', 'what it is called with: JSON, @file, or - for standard input'],
  context: ['--context <json>', 'facts that are in no payload: JSON, @file, or -'],
  purpose: ['--purpose <text>', 'why the call is made'],
  environment: ['--environment <name>', 'where it is meant to take effect'],
  correlation: ['--correlation <id>', 'the task it belongs to (default: one of its own)'],
} as const satisfies Readonly<Record<string, Words>>
