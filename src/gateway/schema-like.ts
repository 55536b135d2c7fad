import type { Json } from '../base/canonical.ts'
import { Failure } from '../base/failure.ts'

export type JsonSchema = { readonly [key: string]: Json | undefined }

/** What any Standard Schema has; those that can also say themselves as JSON Schema have `jsonSchema`. */
export interface StandardSchema<Out = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => StandardResult<Out> | Promise<StandardResult<Out>>
    readonly types?: { readonly input: unknown; readonly output: Out } | undefined
    readonly jsonSchema?: {
      readonly input: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>
    }
  }
}

export type StandardResult<Out> =
  | { readonly value: Out; readonly issues?: undefined }
  | {
      readonly issues: readonly {
        readonly message?: string
        readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
      }[]
    }

/** A schema as users write it: a Standard Schema (Zod, Valibot, ArkType …) or plain JSON Schema. */
export type SchemaLike<Out = unknown> = StandardSchema<Out> | JsonSchema

export type OutputOf<S> = S extends StandardSchema<infer Out> ? Out : Record<string, Json>

export interface ReadSchema {
  readonly json: JsonSchema
  /** The rest of what a Standard Schema checks, and the value as it hands it on. Undefined for plain JSON Schema. */
  readonly validate: StandardSchema['~standard']['validate'] | undefined
}

/** The JSON Schema of a schema, which is what callers and approvers are shown and every payload is held against. */
export function readSchema(schema: SchemaLike | undefined, member: string): ReadSchema {
  if (schema === undefined) return { json: {}, validate: undefined }
  if (!isStandard(schema)) return { json: schema, validate: undefined }
  const { jsonSchema, validate, vendor } = schema['~standard']
  if (jsonSchema === undefined) {
    const help = `wrap it so that it has \`~standard.jsonSchema\`, or give \`${member}\` as JSON Schema`
    const message = `\`${member}\`: a schema of \`${vendor}\` that cannot be told as JSON Schema`
    throw new Failure('capability.invalid', message, { member }, help)
  }
  try {
    const { $schema: _, ...json } = jsonSchema.input({ target: 'draft-2020-12' }) as Record<string, Json>
    return { json, validate }
  } catch (error) {
    // A schema of what JSON does not have, such as a date, throws whatever its library throws.
    const why = error instanceof Error ? error.message : String(error)
    throw new Failure('capability.invalid', `\`${member}\` cannot be told as JSON Schema: ${why}`, { member })
  }
}

const isStandard = (schema: SchemaLike): schema is StandardSchema => '~standard' in schema
