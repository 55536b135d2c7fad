/** True if the path is the node the grant names or lies below it. Both are parsed paths: nothing is resolved here. */
export const covers = (grant: string, path: string): boolean =>
  endsSegment(path, grant.length) && path.startsWith(grant)

/** `covers` for many grants at once, kept by length: a check costs about the same however many there are. */
export function makeCoverage(grants: readonly string[]): (path: string) => boolean {
  const byLength = Map.groupBy(grants, ({ length }) => length)
  const groups = [...byLength].map(([length, paths]) => [length, new Set(paths)] as const)
  return (path) => groups.some(([length, paths]) => endsSegment(path, length) && paths.has(path.slice(0, length)))
}

const slash = 0x2f

const endsSegment = (path: string, length: number): boolean =>
  path.length === length || path.charCodeAt(length) === slash
