# Size: how much a test tries, and what it measured. `make check` takes the fast
# sizes, `make check-full` sets CHECK_SIZE=full. t/unit/size.h is the same for C;
# t/promises.pl collects what both say.
package BrowserTask::Size;
use strict;
use warnings;
use Exporter qw(import);
use Test::More ();
our @EXPORT_OK = qw(figure seeded sized);

sub full { return ($ENV{CHECK_SIZE} // 'fast') eq 'full' }

# Seeds rand() and returns the seed, also for children: SEED, to repeat a
# sequence; else the same at each fast run and another at each full one.
sub seeded {
	$ENV{SEED} //= full() ? 1 + int rand(1 << 30) : 1;
	srand $ENV{SEED};
	Test::More::note("SEED=$ENV{SEED}");
	return $ENV{SEED};
}

# One of two counts, noted so that a reader sees what was tried.
sub sized {
	my ($what, $fast, $full) = @_;
	my $count = full() ? $full : $fast;
	Test::More::note("size: $what: $count");
	return $count;
}

# What was measured or counted, in words: sprintf's arguments.
sub figure {
	my ($format, @args) = @_;
	Test::More::note('figure: ' . sprintf $format, @args);
}

1;
