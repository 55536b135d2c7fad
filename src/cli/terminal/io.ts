import { styleText } from 'node:util'
import type { Command } from 'commander'

/** What a command may touch of the world around it: tests pass their own. */
export interface Io {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** Everything on standard input, or undefined at a terminal, where nothing was piped in. */
  readonly stdin: (bytesMax?: number) => Promise<string | undefined>
  /** Asks for a value without showing it; only at a terminal. */
  readonly askHidden: (question: string) => Promise<string | undefined>
  readonly color: boolean
  /** Reports signals until the returned function is called; until then they do not end the process. */
  readonly onSignal: (listener: (signal: Signal) => void) => () => void
  /** Whether standard error is a terminal, so that progress is worth showing there. */
  readonly live?: boolean
  /** False where standard output is no terminal: a file or another program reads it. */
  readonly terminal?: boolean
  /** How many characters fit a line of the terminal, where that is known. */
  readonly width?: number
}

export type Signal = 'SIGINT' | 'SIGTERM' | 'SIGHUP'

type Style = Parameters<typeof styleText>[0]

export const paint = (io: Io, style: Style, text: string): string =>
  io.color ? styleText(style, text, { validateStream: false }) : text

export const line = (io: Io, text = ''): void => io.out(`${text}\n`)

/** Tells people something beside the output. */
export const tell =
  (io: Io) =>
  (text: string): void =>
    io.err(`${plain(text)}\n`)

/** JSON for programs: one value, indented, with a line break at the end. */
export const printJson = (io: Io, value: unknown): void => line(io, jsonText(value, 2))

/** A value as JSON in which every character is escaped that could move the cursor or turn the line around. */
export const jsonText = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replace(/(?!\n)[\p{C}\p{Zl}\p{Zp}]/gu, (char) =>
    char.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  )

/** Text of others, as it may stand on a terminal: nothing in it moves the cursor, changes colours or turns the line around. */
export const plain = (text: string): string =>
  text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`)

/** Shows how far a long piece of work is, on one line that the next call writes over. Without a text, the line is gone. */
export function progress(io: Io, text = ''): void {
  if (io.live) io.err(`\r${text}\u001b[K`)
}

/** Shows a text during work of unknown length. */
export async function whileShown<T>(io: Io, text: string, work: Promise<T>): Promise<T> {
  progress(io, text)
  try {
    return await work
  } finally {
    progress(io)
  }
}

/** Adds a command's arguments, options and action. */
export type Register = (command: Command, io: Io) => void

const withFindings = new WeakSet<Io>()

/** For a command that did its work and found something: it exits with 1. */
export const found = (io: Io): void => void withFindings.add(io)

export const hasFindings = (io: Io): boolean => withFindings.has(io)
