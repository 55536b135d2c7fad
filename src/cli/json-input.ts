import type { Json } from '../base/canonical.ts'
import { Failure, quote } from '../base/failure.ts'
import { readJson } from '../base/json.ts'
import { isObject } from '../base/object.ts'
import { readInput } from './files.ts'
import type { Io } from './io.ts'

type JsonObject = Record<string, Json>

/** An object as an option gives it: JSON itself, `@file`, or `-` for standard input. */
export async function objectInput(io: Io, option: string, given: string): Promise<JsonObject> {
  const value = await jsonInput(io, option, given)
  if (isObject(value)) return value as JsonObject
  throw new Failure('field.invalid', `${option} must be an object`)
}

async function jsonInput(io: Io, option: string, given: string): Promise<Json> {
  const text = given === '-' ? await io.stdin() : given.startsWith('@') ? readInput(io, given.slice(1)) : given
  if (text === undefined) throw new Failure('json.invalid', `${option}: nothing is on standard input`)
  try {
    return readJson(text)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const where = given === '-' || given.startsWith('@') ? ` in ${quote(given)}` : ''
    throw new Failure(error.code, `${option}${where}: ${error.message}`, error.data)
  }
}
