/**
 * A name of a parameter, a cookie or a header as the most lenient of servers compares it: decoded however often, without
 * case, blanks around it and what stands in brackets, and any sign as `_`.
 */
export function foldedName(name: string): string {
  let text = name
  for (let round = 0; round < 4 && text.includes('%'); round++) text = decoded(text)
  const [plain = ''] = text.replace(/^[\s\p{C}]+/u, '').split('[')
  return plain
    .replace(/[\s\p{C}]+$/u, '')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]/gu, '_')
}

const decoded = (text: string): string =>
  text.replace(/(?:%[\da-f]{2})+/gi, (codes) => Buffer.from(codes.replaceAll('%', ''), 'hex').toString())

/** What some servers take for another method than that of the request. */
export const isMethodName = (name: string): boolean => foldedName(name) === '_method'
