import { z } from 'zod'
import { jsonObject } from './json.ts'
import { form, line, prose, semver } from './text.ts'

const pointer = '(?:/(?:[^/~]|~[01])*)+'

/** Where a field comes from. Nothing is sourced from subject or actor: identity is not a business fact. */
const fieldSource = form(
  new RegExp(`^(?:(?:payload|metadata):${pointer}|correlation:/environment|host:[A-Za-z0-9_.:-]{1,128})$`, 'u'),
  '`payload:` or `metadata:` and a JSON Pointer, `correlation:/environment`, or `host:` and a resolver',
)

const fieldName = form(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/u, 'a field name: letters, digits and _, no digit first')

/** One fact a call must bring. That `schema` narrows and a sensitive value stays out of evidence is checked at registration. */
const contextField = z.strictObject({
  source: fieldSource,
  schema: jsonObject,
  required: z.boolean().optional(),
  sensitive: z.boolean().optional(),
  evidence: z.enum(['value', 'digest', 'omit']).optional(),
  /** Of text that is recorded as a value: of longer text a digest is. */
  value_chars_max: z.int().min(1).optional(),
  read_by: z.array(line).optional(),
  show_to_approver: z.boolean().optional(),
  description: prose.optional(),
})

export const contextContract = z.strictObject({
  name: line,
  version: semver,
  identifies: prose,
  closed: z.boolean().optional(),
  fields: z.record(fieldName, contextField),
  example: jsonObject,
})

export type ContextContract = z.infer<typeof contextContract>
