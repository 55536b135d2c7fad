/** A name as it stands in a JSON Pointer (RFC 6901). */
export const escapedKey = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1')

/** The JSON Pointer of a path of names and places in lists. */
export const pointerOf = (path: readonly PropertyKey[]): string =>
  path.map((key) => `/${escapedKey(String(key))}`).join('')

/** The name that a part of a JSON Pointer stands for. */
export const unescapedKey = (part: string): string => part.replaceAll('~1', '/').replaceAll('~0', '~')
