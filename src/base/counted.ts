/** A number with the word for it: `1 policy`, `2 policies`. */
export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`
