/** A value without control, bidirectional and invisible characters; line breaks and tabs stay. */
export const cleanValue = (text: string): string =>
  hidden.test(text) ? text.replace(/[\x85\u2028\u2029]/g, ' ').replace(hiddenAll, '') : text

const hidden = /(?![\n\t])[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u
const hiddenAll = new RegExp(hidden, 'gu')

/** The first characters of a text, counted as people count them: no pair of surrogates is torn. */
export const clip = (text: string, charsMax: number): string =>
  text.length <= charsMax ? text : [...text].slice(0, charsMax).join('')

export const isLonger = (text: string, charsMax: number): boolean =>
  text.length > charsMax && [...text].length > charsMax
