import { Ajv2020 } from 'ajv/dist/2020.js'
import type { Json } from '../base/canonical.ts'
import { Failure } from '../base/failure.ts'
import type { JsonObject } from '../base/object.ts'

/** Where a value fails its schema: a JSON Pointer and the keyword, never the value. */
export interface SchemaProblem {
  readonly path: string
  readonly keyword: string
}

const problemsMax = 32

/** A check of values against a JSON Schema (2020-12); a schema that is none is refused. */
export function compileSchema(schema: JsonObject): (value: Json) => SchemaProblem[] {
  const validate = compiled(schema)
  return (value) => {
    if (validate(value)) return []
    const problems = (validate.errors ?? []).map(({ instancePath, keyword }) => ({ path: instancePath, keyword }))
    return problems.slice(0, problemsMax)
  }
}

/**
 * As `compileSchema`, but compiled when the first value comes: for schemas of others, of which there may be thousands.
 * Of one that then turns out to be of no use every value is a problem.
 */
export function compileLater(schema: JsonObject): (value: Json) => SchemaProblem[] {
  if (!hasSchemaForm(schema)) throw unusable()
  let check: ReturnType<typeof compileSchema> | undefined
  return (value) => {
    check ??= compiledOrNot(schema)
    return check(value)
  }
}

function compiledOrNot(schema: JsonObject): ReturnType<typeof compileSchema> {
  try {
    return compileSchema(schema)
  } catch {
    return () => [{ path: '', keyword: 'schema' }]
  }
}

// Annotations of ours and formats are not checked; references reach no further than the schema itself.
const options = { strict: false, allErrors: true, validateFormats: false, logger: false } as const
let meta: Ajv2020 | undefined

/** True for a JSON Schema (2020-12) as far as its form goes: much quicker than to compile it. */
export function hasSchemaForm(schema: object): boolean {
  // Made when the first schema comes: it takes longer than all the rest of a start.
  meta ??= new Ajv2020(options)
  return meta.validateSchema(schema) === true
}

function compiled(schema: object) {
  try {
    // Each schema has a compiler of its own: two of them may use the same ids.
    if (hasSchemaForm(schema)) return new Ajv2020({ ...options, validateSchema: false }).compile(schema)
  } catch {
    // Said below.
  }
  throw unusable()
}

const unusable = (): Failure => new Failure('field.invalid', 'the schema is not a JSON Schema that can be used')
