// Package nudge decides when a conversation is reviewed for memories and skills. It counts turns.
// It starts and stores nothing: the conversation holds the Counters.
//
//	if seen.Add(message) {
//		counters = nudge.After(counters, turn)
//		if memory, skill := nudge.Due(counters, settings); memory || skill {
//			// start the review under turn.Number; once its start is confirmed:
//			counters = nudge.Started(counters, turn.Number, memory, skill)
//		}
//	}
package nudge
