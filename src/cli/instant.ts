import { formatTime, parseTime } from '../base/time.ts'
import { duration } from './duration.ts'

/** A time that was written out, or as an age such as `7d`, in the one form we write. */
export const instant = (text: string): string => formatTime(parseTime(text) ?? Date.now() - duration(text))
