/** For an option that may be given several times; one value each, so that it never swallows an argument behind it. */
export const several = (value: string, before: readonly string[] | undefined): readonly string[] => [
  ...(before ?? []),
  value,
]
