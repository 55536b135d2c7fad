// ˂ ᐸ ‹ 〈 ⟨ ❬ ❮ ❰ ⧼ 〈 « ≪ ⟪ 《, beside the three that decompose into a bracket.
const brackets =
  '<\u02c2\u1438\u2039\u2329\u27e8\u276c\u276e\u2770\u29fc\u3008\u00ab\u226a\u27ea\u300a\u226e\ufe64\uff1c'
const ampersands = '&\ufe60\uff06'

/** What a lenient reader may take for `<`, and for the `&` that begins a character reference. */
export const bracketLike = new RegExp(`[${brackets}]`, 'g')
export const ampersandLike = new RegExp(`[${ampersands}]`, 'g')
export const openerLike = new RegExp(`[${brackets}${ampersands}]`, 'g')

/**
 * One code point as a lenient reader compares it: compatibility form, no case, no marks, nothing for blanks, invisible
 * characters, and U+FFFD, which decoders write for what they cannot decode.
 */
export function fold(code: number): string {
  return ascii[code] ?? foldText(String.fromCodePoint(Math.min(code, 0x10ffff)))
}

const unseen = /[\p{C}\p{M}\p{Z}\s\p{Default_Ignorable_Code_Point}\u2800\ufffd]/gu

// Upper case first: the dotless `ı` only meets `i` there. The double low line would decompose into a blank.
const foldText = (char: string): string =>
  char.replace('\u2017', '_').normalize('NFKD').toUpperCase().toLowerCase().replace(unseen, '')

const ascii = Array.from({ length: 128 }, (_, code) => foldText(String.fromCharCode(code)))

/** A folded character as the eye takes it: letters of other scripts, and those that are told apart with an effort, as one. */
export const seenAs = (char: string): string => looks.get(char) ?? char

const looks = new Map<string, string>([
  ...[...brackets].map((bracket) => [bracket, '<'] as const),
  ...[...'\u2044\u2215\u29f8\u2571\u27cb'].map((slash) => [slash, '/'] as const),
  ...[...'\u2216\u29f5\u29f9\u2572\u27cd'].map((slash) => [slash, '\\'] as const),
  ...[...'-\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u02d7\u058a\u30fc'].map((dash) => [dash, '_'] as const),
  ...Object.entries({
    ...{ a: 'аαɑᴀꭺ', b: 'вьβʙƀɓᏼꮟ', c: 'сϲςᴄꮯꮳ', d: 'ԁᴅđɗꭰꮷ', e: 'еёεєᴇꭼ', g: 'ɡɢցԍǥɠꮐᏻ' },
    ...{ i: 'lı1|іїιɪӏǀʟɨłꭵꮖꮮ', k: 'кκᴋƙꮶ', m: 'мμᴍꮇ', n: 'vνηոпɴᴠѵꮑꮩ', o: '0оοօσᴏøꮎ', p: 'рρᴘƥꮲ' },
    ...{ r: 'гʀꭱꮢ', s: 'ѕꜱꮥꮪ', t: 'тτᴛŧƭꭲ', u: 'υսᴜꮜ', w: 'ωԝաᴡꮃꮤ', y: 'уүγʏꭹꮍ' },
  }).flatMap(([letter, alike]) => [...alike].map((char) => [foldText(char), letter] as const)),
])
