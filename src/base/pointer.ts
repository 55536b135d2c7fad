/** A name as it stands in a JSON Pointer (RFC 6901). */
export const escapedKey = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1')

/** The name that a part of a JSON Pointer stands for. */
export const unescapedKey = (part: string): string => part.replaceAll('~1', '/').replaceAll('~0', '~')
