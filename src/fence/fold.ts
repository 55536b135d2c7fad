// ˂ ᐸ ‹ 〈 ⟨ ❬ ❮ ❰ ⧼ 〈, beside the two whose compatibility form is a bracket.
const brackets = '<\u02c2\u1438\u2039\u2329\u27e8\u276c\u276e\u2770\u29fc\u3008\ufe64\uff1c'
const ampersands = '&\ufe60\uff06'

/** What a lenient reader may take for `<`, and for the `&` that begins a character reference. */
export const bracketLike = new RegExp(`[${brackets}]`, 'g')
export const ampersandLike = new RegExp(`[${ampersands}]`, 'g')
export const openerLike = new RegExp(`[${brackets}${ampersands}]`, 'g')

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

/** A folded character as the eye takes it: letters of other scripts, and those that are told apart with an effort, as one. */
export const seenAs = (char: string): string => looks.get(char) ?? char

const looks = new Map<string, string>([
  ...[...brackets].map((bracket) => [bracket, '<'] as const),
  ...[...'-\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u02d7\u058a\u30fc'].map((dash) => [dash, '_'] as const),
  ...Object.entries({
    ...{ a: 'аαɑᴀ', b: 'вьβʙ', c: 'сϲςᴄ', d: 'ԁᴅ', e: 'еёεєᴇ', g: 'ɡɢցԍ', i: 'lı1|іїιɪӏǀʟ', k: 'кκᴋ' },
    ...{ m: 'мμᴍ', n: 'vνηոпɴᴠѵ', o: '0оοօσᴏ', p: 'рρᴘ', r: 'гʀ', s: 'ѕꜱ', t: 'тτᴛ', u: 'υսᴜ', w: 'ωԝաᴡ', y: 'уүγʏ' },
  }).flatMap(([letter, alike]) => [...alike].map((char) => [char, letter] as const)),
])
