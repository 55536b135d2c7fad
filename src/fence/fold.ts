/** What a lenient reader may take for `<`, and for the `&` that begins a character reference. */
export const bracketLike = /[<\ufe64\uff1c]/g
export const ampersandLike = /[&\ufe60\uff06]/g
export const openerLike = /[<&\ufe60\ufe64\uff06\uff1c]/g

/**
 * One code point as a lenient reader compares it: compatibility form, no case, nothing for blanks and invisible
 * characters. U+FFFD counts as invisible because decoders write it for what they cannot decode.
 */
export function fold(code: number): string {
  return ascii[code] ?? foldText(String.fromCodePoint(Math.min(code, 0x10ffff)))
}

const unseen = /[\p{C}\p{Z}\s\p{Default_Ignorable_Code_Point}\u2800\ufffd]/gu

// Upper case first: the dotless `ı` only meets `i` there.
const foldText = (char: string): string => char.normalize('NFKC').toUpperCase().toLowerCase().replace(unseen, '')

const ascii = Array.from({ length: 128 }, (_, code) => foldText(String.fromCharCode(code)))
