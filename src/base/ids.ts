/** Where new names come from. Ids are names, never secrets. */
export interface Ids {
  /** A new id with this prefix; ids of one prefix made by one process sort in the order they were made. */
  next(prefix: IdPrefix): string
}

export type IdPrefix =
  | 'cor'
  | 'evt'
  | 'inv'
  | 'key'
  | 'apr'
  | 'sig'
  | 'mnd'
  | 'req'
  | 'gr'
  | 'ckp'
  | 'lease'
  | 'rcpt'
  | 'art'
  | SortedPrefix

/** Names of rows that are written in time order and in great numbers: a random part would spread them over the store. */
export type SortedPrefix = 'run' | 'mem'

export const isSortedPrefix = (prefix: IdPrefix): prefix is SortedPrefix => prefix === 'run' || prefix === 'mem'

/** `prefix_` + 12 hex digits of milliseconds + 4 that count up. */
export const formatSortedId = (prefix: SortedPrefix, ms: number, count: number): string =>
  `${prefix}_${ms.toString(16).padStart(12, '0')}${count.toString(16).padStart(4, '0')}`

export const countMax = 0xffff

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

/** `prefix_` + 10 characters of time + 16 of entropy (10 bytes), lower-case Crockford base 32: text order is time order. */
export function formatId(prefix: IdPrefix, ms: number, entropy: Uint8Array): string {
  if (ms !== last.ms) last = { ms, text: timeText(ms) }
  return `${prefix}_${last.text}${base32(entropy)}`
}

// Many are made within one millisecond.
let last = { ms: 0, text: timeText(0) }

function timeText(ms: number): string {
  let time = ''
  for (let rest = ms, digit = 0; digit < 10; digit++, rest = Math.floor(rest / 32)) time = alphabet[rest % 32] + time
  return time
}

function base32(bytes: Uint8Array): string {
  let out = ''
  let buffer = 0
  let bits = 0
  for (const byte of bytes) {
    buffer = (buffer << 8) | byte
    bits += 8
    while (bits >= 5) {
      bits -= 5
      out += alphabet[(buffer >> bits) & 31]
    }
    buffer &= (1 << bits) - 1
  }
  return out
}
