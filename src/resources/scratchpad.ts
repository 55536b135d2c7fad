import { z } from 'zod'
import { limits } from '../base/limits.ts'
import { parseDuration } from '../base/time.ts'
import { duration } from '../model/text.ts'
import { defineProvider, type Provider } from './define.ts'
import { isStorable } from './entry-store.ts'
import { findShown, shownLimit } from './find-shown.ts'

/** A log that agents share: one bucket for the first grant and the name of the resource, whose lines go after a time. */
export const scratchpad = (): Provider =>
  defineProvider({
    kind: 'scratchpad',
    maxMode: 'read-write',
    reads: ['at'],
    writes: ['at'],
    config: z.strictObject({ ttl: duration.default('7d').describe('How long an entry stays.') }),
    bucket: 'session',
    tools: {
      read: {
        description: 'Reads the newest entries of the shared scratchpad, oldest first.',
        input: z.strictObject({ limit: shownLimit }),
        run: async ({ limit = limits.scratchpadEntriesShownMax }, { resourceName, grants, store }) => {
          const scopes = grants.slice(0, 1)
          const { shown } = await findShown(store, { scopes, topics: [resourceName], limit }, (entry) => ({
            id: entry.id,
            agentId: entry.source.agentId,
            content: entry.content,
            createdAt: entry.createdAt,
          }))
          return { result: { ok: true, entries: shown.reverse() }, scopes }
        },
      },
      append: {
        description: 'Adds an entry to the shared scratchpad.',
        mode: 'read-write',
        input: z.strictObject({ content: text }),
        run: ({ content }, { resourceName, grants, config, store }) => {
          const scopes = grants.slice(0, 1)
          const code = refusalOf(content)
          if (code !== undefined) return { result: { ok: false, code }, scopes }
          const entry = { scope: String(scopes[0]), content, topics: [resourceName] }
          const id = store.add({ ...entry, expiresInMs: parseDuration(config.ttl) ?? 0 })
          return { result: { ok: true, id }, scopes }
        },
      },
    },
  })

const text = z.string().max(limits.jsonBytesMax).describe(`At most ${limits.scratchpadEntryBytesMax} bytes.`)

const refusalOf = (content: string): string | undefined => {
  if (content.trim() === '' || !isStorable(content)) return 'args_invalid'
  return Buffer.byteLength(content) > limits.scratchpadEntryBytesMax ? 'payload_too_large' : undefined
}
