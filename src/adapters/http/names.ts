/**
 * A name of a parameter, a cookie or a header as the most lenient of servers compares it: decoded however often, without
 * case, blanks around it, what stands in brackets or behind a zero, and any sign as `_`.
 */
export const foldedName = (name: string): string => folded(decoded(name).replace(/\[.*/s, ''))

/** True if some server may take a name that is sent for one of others: to some a bracket that is never closed is one more sign. */
export function readsAs(names: readonly string[]): (sent: string) => boolean {
  const known = new Set(names.map(foldedName))
  return (sent) => known.has(foldedName(sent)) || known.has(folded(decoded(sent)))
}

/** What some servers take for another method than that of the request. */
export const isMethodName = readsAs(['_method'])

function decoded(name: string): string {
  let text = name
  for (let round = 0; round < 4 && text.includes('%'); round++)
    text = text.replace(/(?:%[\da-f]{2})+/gi, (codes) => Buffer.from(codes.replaceAll('%', ''), 'hex').toString())
  return text.replace(/^[\s\p{C}]+/u, '').replace(/\0.*/s, '')
}

function folded(text: string): string {
  // Looked for only where a run of them begins: else a long run inside of a name would be read once from each of its places.
  const plain = text.replace(/(?<![\s\p{C}])[\s\p{C}]+$/u, '')
  return plain.toLowerCase().replace(/[^\p{L}\p{M}\p{N}]/gu, '_')
}
