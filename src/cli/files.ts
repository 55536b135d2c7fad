import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { Failure, quote } from '../base/failure.ts'
import type { Io } from './io.ts'

/** The bytes of a file that was named on the command line. */
export function readInput(io: Io, path: string): Buffer {
  try {
    return readFileSync(resolve(io.cwd, path))
  } catch (error) {
    throw new Failure('file.not_found', `${quote(path)} cannot be read (${codeOf(error)})`)
  }
}

/** Writes a file that was named on the command line. */
export function writeOutput(io: Io, path: string, text: string): void {
  try {
    writeFileSync(resolve(io.cwd, path), text)
  } catch (error) {
    const help = 'name a folder that exists and is yours'
    throw new Failure('file.unavailable', `${quote(path)} cannot be written (${codeOf(error)})`, {}, help)
  }
}

const codeOf = (error: unknown): string => String((error as { code?: unknown }).code)
