import { closeSync, fchmodSync, fstatSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Json } from '../../base/canonical.ts'
import { Failure, quote } from '../../base/failure.ts'
import { readJson } from '../../base/json.ts'
import { isObject } from '../../base/object.ts'
import type { Io } from './io.ts'

/** The bytes of a file that was named on the command line. */
export function readInput(io: Io, path: string): Buffer {
  try {
    return readFileSync(resolve(io.cwd, path))
  } catch (error) {
    throw new Failure('file.not_found', `${quote(path)} cannot be read: ${codeOf(error)}`)
  }
}

/** The JSON in a file that was named on the command line. */
export const readJsonInput = (io: Io, path: string): Json => jsonIn(quote(path), readInput(io, path))

/** JSON by the strict reader, whose refusals name where it came from. */
export function jsonIn(where: string, text: string | Buffer): Json {
  try {
    return readJson(text)
  } catch (error) {
    throw error instanceof Failure ? new Failure(error.code, `${where}: ${error.message}`, error.data) : error
  }
}

/** An object as an option gives it: JSON itself, `@file`, or `-` for standard input. */
export async function objectInput(io: Io, option: string, given: string): Promise<Record<string, Json>> {
  const isFile = given.startsWith('@')
  const text = given === '-' ? await io.stdin() : isFile ? readInput(io, given.slice(1)) : given
  if (text === undefined) throw new Failure('json.invalid', `${option}: nothing is on standard input`)
  const value = jsonIn(given === '-' || isFile ? `${option} in ${quote(given)}` : option, text)
  if (isObject(value)) return value as Record<string, Json>
  throw new Failure('field.invalid', `${option} must be an object`)
}

/** Writes a file that was named on the command line; over one that is there, unless told not to. */
export function writeOutput(io: Io, path: string, text: string, { replace = true } = {}): void {
  writing(io, path, (full) => writeFileSync(full, text, { flag: replace ? 'w' : 'wx' }))
}

/** Writes a file that only its owner can read; one that is there is left alone, unless it is to be replaced. */
export function writePrivate(io: Io, path: string, text: string, { replace }: { readonly replace: boolean }): void {
  writing(io, path, (full) => {
    const file = openSync(full, replace ? 'w' : 'wx', 0o600)
    try {
      // One that was there has the mode it had; a device keeps it.
      if (fstatSync(file).isFile()) fchmodSync(file, 0o600)
      writeFileSync(file, text)
    } finally {
      closeSync(file)
    }
  })
}

function writing(io: Io, path: string, write: (full: string) => void): void {
  const full = resolve(io.cwd, path)
  try {
    write(full)
  } catch (error) {
    if (codeOf(error) === 'EEXIST' && statSync(full, { throwIfNoEntry: false })?.isFile())
      throw new Failure('file.exists', `${quote(path)} is here already`, {}, 'use --force to replace it')
    const help = 'name a folder that exists and is yours'
    throw new Failure('file.unavailable', `${quote(path)} cannot be written: ${codeOf(error)}`, {}, help)
  }
}

const codeOf = (error: unknown): string => String((error as { code?: unknown }).code)
