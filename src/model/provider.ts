import { z } from 'zod'
import { limits } from '../base/limits.ts'
import { resourceMode, resourceName } from './agent.ts'
import { form } from './text.ts'

// Prefixes of ours, and where legacy buckets are kept.
const reserved = ['ambit', 'workspace', 'context']
const code = z.custom<(...args: never[]) => unknown>((value) => typeof value === 'function', 'must be a function')
const standard = z.custom<object>(
  (value) => typeof value === 'object' && value !== null && '~standard' in value,
  'must be a Standard Schema',
)

const tool = z.strictObject({
  description: z.string().min(1).max(limits.toolDescriptionCharsMax),
  input: z.custom<object>((value) => typeof value === 'object' && value !== null, 'must be a schema').optional(),
  mode: resourceMode.default('read'),
  effects: z.array(z.string()).optional(),
  run: code,
})

/** What a provider is made from, as its author writes it. */
export const providerSpec = z
  .strictObject({
    kind: resourceName.refine((kind) => !reserved.includes(kind.toLowerCase()), 'must not be a reserved word'),
    defaultMode: resourceMode.default('read'),
    maxMode: resourceMode,
    reads: z.array(z.enum(['up', 'at', 'down'])).min(1),
    writes: z.array(z.enum(['at', 'down'])).default([]),
    config: standard.optional(),
    tools: z.record(form(/^[a-z][a-z0-9_]{0,31}$/u, 'a small letter, then small letters, digits and _'), tool),
    prompt: code.optional(),
    bucket: z.enum(['evidence', 'memory', 'business', 'session']).optional(),
    erase: code.optional(),
    open: code.optional(),
    close: code.optional(),
  })
  .refine(
    ({ maxMode, ...spec }) => maxMode === 'read-write' || !writesAnything(spec),
    'writes, and its `maxMode` is `read`',
  )

const writesAnything = (spec: { defaultMode: string; writes: unknown[]; tools: Record<string, { mode: string }> }) =>
  [spec, ...Object.values(spec.tools)].some(isWriting)

const isWriting = (part: { defaultMode?: string; writes?: unknown[]; mode?: string }): boolean =>
  part.mode === 'read-write' || part.defaultMode === 'read-write' || (part.writes ?? []).length > 0
