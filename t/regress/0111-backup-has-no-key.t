#!/usr/bin/perl
# Each backup held the key of the digests that are kept instead of inputs: who
# read one could find short inputs by trial. Now the key stays in the store, and
# a restored one, which makes another, says that it cannot compare.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use File::Find ();
use Test::More;

my $i = BrowserTask::Harness->new(scripted => 1)->start;
my $c = client($i);
my $backup = $i->dir . '/backup';
my $state = $i->dir . '/restored';

sub bytes_of {
	my ($dir) = @_;
	my $bytes = '';

	File::Find::find({ no_chdir => 1, wanted => sub {
		$bytes .= BrowserTask::Harness::slurp($_) if !-l $_ && -f _ } }, $dir);
	return $bytes;
}

sub keys_in {
	my ($bytes) = @_;
	my %found = map { $_ => 1 } $bytes =~ /digest_key\x01.{4}(?=(.{32}))/sg;
	return keys %found;
}

sub submit {
	my ($client, $note, $key) = @_;
	return $client->run('scripted', { do => ['item'], note => $note },
		{ mode => 'sync', idempotencyKey => $key });
}

my $before = submit($c, 'small', 'before');
is($before->{status}, 'succeeded', 'a run with a key');
ok(submit($c, 'other', 'before')->{paramsMismatch},
	'its repetition with other inputs is told from it');
my ($key, @more) = keys_in(bytes_of($i->state_dir));
ok(defined $key && !@more, 'the store has the one key of its digests');
my ($status, $out, $err) = $i->ctl('backup', $backup);
is($status, 0, 'a backup is made') or diag $err;
my $copy = bytes_of($backup);
ok(length $copy, 'it has bytes');
ok(index($copy, $key) < 0, 'the key is not among them');
is($i->stop, 0, 'it stops');

($status, $out, $err) = $i->ctl('restore', '--state-dir', $state, $backup);
is($status, 0, 'it is restored') or diag $err;
my ($other) = keys_in(bytes_of($state));
ok(defined $other && $other ne $key, 'the restored store has a key of its own');
my $j = BrowserTask::Harness->new(scripted => 1, state => $state)->start;
$c = client($j);
for my $note ('small', 'other') {
	my $again = submit($c, $note, 'before');
	is($again->{runId}, $before->{runId},
	    "the idempotency key stands for its run (inputs: $note)");
	ok(exists $again->{paramsMismatch} && !defined $again->{paramsMismatch},
	    '... and whether these are its inputs is not claimed');
}
my $after = submit($c, 'small', 'after');
ok(!$after->{deduplicated}, 'a run with a new key');
my $same = submit($c, 'small', 'after');
ok($same->{deduplicated} && !exists $same->{paramsMismatch},
	'... is compared as ever: the same inputs');
ok(submit($c, 'other', 'after')->{paramsMismatch}, '... and others');
($status, $out) = $j->ctl('fsck');
is($status, 0, 'the restored store is sound') or diag $out;
is($j->stop, 0, 'it stops');
is(left(60), '', 'nothing is left');
done_testing();
