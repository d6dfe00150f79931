#!/usr/bin/perl
# Damage at rest, as whoever runs browsertaskctl meets it: of the database of a
# service that is stopped one bit is another one. fsck tells of it, or all that
# is kept is as it was, which a backup proves; and no command is ended by a
# signal or hangs, whatever the pages do to the process that reads them.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use BrowserTask::Size qw(figure seeded sized);
use Digest::SHA qw(sha256_hex);
use JSON::PP ();
use Test::More;

use constant { RUNS => 20, PAGE => 4096, HEAD => 16, META => 152 };

my $flips = sized('flipped bits', 20, 500);

seeded();
my $i = BrowserTask::Harness->new(scripted => 1,
	settings => ['runTtlMs=86400000'])->start;
my $c = client($i);
for my $n (1 .. RUNS) {
	my @do = (([ 'item', 'item' ], [ 'art', 'result' ], [ 'big', 'item' ],
		[ 'item', 'bad', 'warn' ])[ $n % 4 ]);
	my $r = $c->run('scripted', { do => @do },
		{ mode => 'sync', idempotencyKey => "key $n" });
	like($r->{status}, qr/succe/, "run $n");
}
undef $c;
is($i->stop, 0, 'stops');
my $path = $i->state_dir . '/store/data.mdb';
my $size = -s $path;

# One bit is another one; again, and it is as it was.
sub flip {
	my ($at, $bit) = @_;
	my $byte;

	open(my $fh, '+<:raw', $path) or die "$path: $!\n";
	sysseek $fh, $at, 0;
	sysread($fh, $byte, 1) == 1 or die "$path: $at: nothing there\n";
	sysseek $fh, $at, 0;
	syswrite $fh, $byte ^ chr(1 << $bit);
	close $fh or die "$path: $!\n";
}

# What a backup has of the records, undef if none is made.
sub records {
	my $to = $i->dir . '/copy';
	my ($status, $out, $err) = $i->ctl('backup', '--state-dir',
		$i->state_dir, $to);
	my $bytes = BrowserTask::Harness::slurp("$to/records");

	system 'rm', '-rf', $to;
	return $status == 0 ? sha256_hex($bytes) : "$status: $err";
}

my $kept = records();
like($kept, qr/^[0-9a-f]{64}$/, 'a backup of what is sound');
is(records(), $kept, 'a second one is the same');

# What the tool makes of it, in one word.
sub verdict {
	my ($status, $out, $err) = $i->ctl('fsck', '--json', '--state-dir',
		$i->state_dir);
	return 'hangs' if !defined $status;
	return 'ended by signal ' . ($status & 127) if $status & 127;
	my $v = eval { JSON::PP->new->decode($out) } // {};
	return 'status ' . ($status >> 8) if $status >> 8 > 1;
	if ($status == 0) {
		return 'says nothing' if !$v->{sound};
		my $now = records();
		return $now eq $kept ? 'sound' : "sound, but not the same: $now";
	}
	return 'reported' if @{ $v->{findings} // [] };
	return $v->{error} ? "refused: $v->{error}" : "says nothing: $err";
}

is(verdict(), 'sound', 'all is sound');

# Where the numbers of free pages begin and end in the first entry of LMDB's list
# of them, as the last commit has it.
sub free_list {
	my $bytes = BrowserTask::Harness::slurp($path);
	my $at = sub { return unpack "x$_[1] $_[0]", $bytes };
	my ($meta) = sort { $at->('Q', $b + 128) <=> $at->('Q', $a + 128) }
	    HEAD, PAGE + HEAD;
	my $page = PAGE * $at->('Q', $meta + 64);

	return if $at->('S', $meta + 30) != 1;
	my $node = $page + $at->('S', $page + HEAD);
	return if $at->('S', $node + 4) != 0;
	my $list = $node + 8 + $at->('S', $node + 6);
	return ($list + 8, $list + 8 + 8 * $at->('Q', $list));
}

# Of the pages that say which commit holds, of the heads of others, of the list
# of those that are free, of anything.
my ($free, $free_end) = free_list();
cmp_ok($free_end // 0, '>', $free // 0, 'there are free pages');
my @places = (
	[ 'list of free pages',
		sub { $free + int rand $free_end - $free } ],
	[ 'first pages', sub { PAGE * int(rand 2) + int rand META } ],
	[ 'heads of pages',
		sub { PAGE * (2 + int rand $size / PAGE - 2) + int rand 64 } ],
	[ 'all the rest', sub { 2 * PAGE + int rand $size - 2 * PAGE } ],
);
my (%seen, @bad);
for my $n (0 .. $flips - 1) {
	my ($name, $where) = @{ $places[ $n % @places ] };
	my ($at, $bit) = ($where->(), int rand 8);

	flip($at, $bit);
	my $v = verdict();
	flip($at, $bit);
	$seen{$name}{ $v =~ /^(\w+)/ ? $1 : $v }++;
	# What is free by a list that is wrong would be written over.
	$v = 'sound, but pages are free that are not'
	    if $v eq 'sound' && $name =~ /^list/;
	push @bad, "$name: byte $at, bit $bit: $v"
	    if $v !~ /^(?:sound$|reported$|refused: )/;
}
for my $place (sort keys %seen) {
	figure('%s: %s', $place, join ', ', map { "$seen{$place}{$_} $_" }
	    sort keys %{ $seen{$place} });
}
is_deeply(\@bad, [], "$flips flipped bits are told, or nothing is different");
is(verdict(), 'sound', 'at the end all is sound');
is(left(60), '', 'no process is left');
done_testing();
