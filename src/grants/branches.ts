import { covers } from './cover.ts'

/** Paths lowered to branches: of a path and a branch that cover each other the narrower, of others nothing. */
export function lowerTo(branches: readonly string[], paths: readonly string[]): readonly string[] {
  const narrower = (path: string): readonly string[] =>
    branches.flatMap((branch) => (covers(path, branch) ? branch : covers(branch, path) ? path : []))
  return [...new Set(paths.flatMap(narrower))]
}
