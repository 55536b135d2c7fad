import { z } from 'zod'
import type { Json } from '../base/canonical.ts'

/** Any JSON value, kept as it is. Nothing is looked at again: what comes from outside came through `readJson`. */
export const jsonValue = z.unknown() as z.ZodType<Json>

/** An object with members of any name and value. */
export const jsonObject = z.object({}).catchall(jsonValue)
