import type { Json } from '../../base/canonical.ts'
import { isJsonObject, type JsonObject } from '../../base/object.ts'
import { escapedKey } from '../../base/pointer.ts'
import { isPrivateName, isSensitiveName } from '../../evidence/redaction/names.ts'
import type { ContextContract } from '../../model/context.ts'

type Field = ContextContract['fields'][string]

/** Of text that is recorded as it is; of longer text a digest is. */
const valueCharsMax = 200
const nameCharsMax = 128
const fieldsMax = 64

/**
 * The context contract that is proposed for a tool, for people to change: required arguments that are plain values are
 * recorded, of others a digest, and those named like secrets are sensitive. An argument of no clear type is left to the
 * digest of the whole input. Of the words of the server only names and types are taken over.
 */
export function proposeContext(id: string, input: JsonObject): ContextContract | undefined {
  const required = new Set([input['required']].flat())
  const properties = Object.entries(isJsonObject(input['properties']) ? input['properties'] : {})
  // Where there are more than can be recorded, those go first that every call has.
  const ordered = properties.toSorted(([a], [b]) => Number(required.has(b)) - Number(required.has(a)))
  const fields: Record<string, Field> = {}
  for (const [index, [name, schema]] of ordered.slice(0, fieldsMax).entries()) {
    const field = fieldFor(name, schema, required.has(name))
    const key = fieldName(name)
    if (field !== undefined) fields[Object.hasOwn(fields, key) ? `${key}_${index}` : key] = field
  }
  if (Object.keys(fields).length === 0) return undefined
  return { name: id, version: '1.0.0', identifies: 'the arguments of one call', fields, example: {} }
}

/** The contract of a tool whose schema changed. What people wrote stays; arguments of new types are as proposed now. */
export function renewContext(old: ContextContract | undefined, now: ContextContract | undefined) {
  if (old === undefined || now === undefined) return old ?? now
  // A schema without a type is one that people wrote.
  const fits = (was: Field | undefined, is: Field) =>
    was && JSON.stringify(was.schema['type'] ?? is.schema['type']) === JSON.stringify(is.schema['type'])
  const changed = Object.entries(now.fields).filter(([name, field]) => !fits(old.fields[name], field))
  const stricter = ({ sensitive, evidence }: Partial<Field> = {}) => ({
    ...(sensitive && { sensitive }),
    ...((sensitive || evidence === 'digest') && { evidence: 'digest' }),
  })
  const renewed = changed.map(([name, field]) => [name, { ...field, ...stricter(old.fields[name]) }])
  return { ...old, fields: { ...old.fields, ...Object.fromEntries(renewed) } }
}

/** A name that rules can read. */
const fieldName = (name: string): string =>
  name
    .replace(/[^A-Za-z0-9_]/gu, '_')
    .replace(/^(?=\d|__proto__$|$)/, 'a_')
    .slice(0, 58)

function fieldFor(name: string, schema: Json | undefined, isRequired: boolean): Field | undefined {
  const type = [...new Set(typesIn(schema))]
  const members = Object.keys((schema as { properties?: object } | undefined)?.properties ?? {})
  const isUnclear = type.length === 0 || (type.includes('object') && members.length === 0)
  if (isUnclear || name.length > nameCharsMax) return undefined
  const { format, writeOnly } = schema as JsonObject
  const isSecret = isPrivateName(name) || secretLike.test(name) || format === 'password' || writeOnly === true
  const isPlain = !isSensitiveName(name) && !type.includes('object') && !type.includes('array')
  const isValue = isRequired && isPlain && !isSecret
  return {
    source: `payload:/${escapedKey(name)}`,
    schema: {
      type: type.length === 1 ? String(type[0]) : type,
      ...(type.includes('object') && { properties: Object.fromEntries(members.map((member) => [member, {}])) }),
      ...(type.includes('array') && { items: {} }),
    },
    // The input schema says what a call must bring, and a refusal says it in its words.
    required: false,
    ...(isSecret && { sensitive: true }),
    ...(isValue ? { evidence: 'value', value_chars_max: valueCharsMax } : { evidence: 'digest' }),
  }
}

// Wider than what is hidden elsewhere: here a doubt costs a digest in place of a value.
const secretLike =
  /auth(?!or)|api.?key|token|secret|passw|passphrase|(?:^|[_.-])(?:pass|pin|otp|ssn|cvv|dsn|pat)(?:$|[_.-])|totp|mfa|pwd|cred|cookie|session|bearer|jwt|conn.*str/i

/** The types that a value may be of; none if that cannot be told. */
function typesIn(schema: Json | undefined): readonly string[] {
  if (!isJsonObject(schema)) return []
  const { type, enum: values, anyOf, oneOf } = schema
  if (type !== undefined) return [type].flat().map(String)
  if (Array.isArray(values)) return values.every((value) => typeof value === 'string') ? ['string'] : []
  const either = [anyOf ?? oneOf ?? []].flat().map(typesIn)
  return either.some(({ length }) => length === 0) ? [] : either.flat()
}
