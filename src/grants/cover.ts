/** True if the path is the node the grant names or lies below it. Both are parsed paths: nothing is resolved here. */
export const covers = (grant: string, path: string): boolean =>
  endsSegment(path, grant.length) && path.startsWith(grant)

/**
 * `covers` over many grants at once. Of all beginnings of a path only those can be a grant that end with a segment and
 * are as long as one, so grants are kept by length, and what a check costs hardly depends on how many there are.
 */
export function makeCoverage(grants: readonly string[]): (path: string) => boolean {
  const byLength = Map.groupBy(grants, ({ length }) => length)
  const groups = [...byLength].map(([length, paths]) => [length, new Set(paths)] as const)
  return (path) => groups.some(([length, paths]) => endsSegment(path, length) && paths.has(path.slice(0, length)))
}

const slash = 0x2f

const endsSegment = (path: string, length: number): boolean =>
  path.length === length || path.charCodeAt(length) === slash
