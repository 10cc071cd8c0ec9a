package lexical

import "strings"

// IsStopword reports whether a folded word is too common to be a term. Stop-words are English
// function words with their contractions, and Chinese function words of one or two characters.
func IsStopword(word string) bool {
	_, ok := stopwords[word]
	return ok
}

// isParticle reports whether a Chinese character is purely grammatical. A pair of two such
// characters is not a term.
func isParticle(r rune) bool { return strings.ContainsRune(particles, r) }

const particles = "的了吗呢吧啊呀嘛哦是在我你他她它们这那就也都和与及而但或被把让给向从到得地着过不没很"

const stopwordList = `
a an the and or but nor if then else than so as of at by for with about into through during before after to from up ` +
	`down in out on off
over under again further once here there when where why how what which who whom whose this that these those
i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers ` +
	`herself it its itself
they them their theirs themselves one
am is are was were be been being do does did doing done have has had having will would shall should can could may ` +
	`might must
not no yes all any both each few more most other some such only own same too very just also ever
i'm i've i'd i'll you're you've you'd you'll he'd he'll she'd she'll it'd it'll we're we've we'd we'll they're ` +
	`they've they'd they'll
that'll that'd there'll there'd who'd who'll what're what'll
isn't aren't wasn't weren't don't doesn't didn't haven't hasn't hadn't won't wouldn't shan't shouldn't can't cannot ` +
	`couldn't mightn't mustn't
s t d ll m re ve let
我们 你们 他们 她们 它们 自己 这个 那个 这些 那些 这样 那样 这里 那里 什么 怎么 怎样 哪里 哪个 哪些 为什 一个 一些 一下 一样
因为 所以 但是 可是 不过 如果 就是 还是 或者 而且 然后 以及 已经 可以 没有 不是 不要 不能 不会 的话 时候 现在 非常 比较
一 个 之 其 所 以 为 于 则 又 还 再 吗 呢`

var stopwords = func() map[string]struct{} {
	set := map[string]struct{}{}
	for _, word := range strings.Fields(stopwordList) {
		set[word] = struct{}{}
	}
	for _, particle := range particles {
		set[string(particle)] = struct{}{}
	}
	return set
}()
