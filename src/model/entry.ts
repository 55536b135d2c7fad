import { z } from 'zod'

/** Who writes a shape for whom: `in` others for us, `out` we for others, `both`, `disk` we for ourselves. */
export type Direction = 'in' | 'out' | 'both' | 'disk'

/** A shape as the registry has it; the title follows from its name unless given. */
export type Entry = readonly [direction: Direction, schema: z.ZodType, description: string, title?: string]

export const takes = <S extends z.core.$ZodLooseShape>(description: string, shape: S) =>
  ['in', z.strictObject(shape), description] as const

export const gives = <S extends z.core.$ZodLooseShape>(description: string, shape: S) =>
  ['out', z.strictObject(shape), description] as const
