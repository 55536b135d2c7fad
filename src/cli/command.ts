import type { Command } from 'commander'
import type { Io } from './io.ts'

/** Adds a command's arguments, options and action. */
export type Register = (command: Command, io: Io) => void

const withFindings = new WeakSet<Io>()

/** For a command that did its work and found something: it exits with 1. */
export const found = (io: Io): void => void withFindings.add(io)

export const hasFindings = (io: Io): boolean => withFindings.has(io)
