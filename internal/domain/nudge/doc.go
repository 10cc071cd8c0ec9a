// Package nudge decides when a conversation is reviewed for what is worth
// remembering. It counts turns, starts nothing and stores nothing: the
// conversation carries Counters along and asks.
//
//	if seen.Add(message) {
//		counters = nudge.After(counters, turn)
//		if memory, skill := nudge.Due(counters, settings); memory || skill {
//			// start the review under turn.Number; once its start is confirmed:
//			counters = nudge.Started(counters, turn.Number, memory, skill)
//		}
//	}
package nudge
