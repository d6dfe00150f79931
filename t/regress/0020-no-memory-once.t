#!/usr/bin/perl
# One refused allocation of supervisord's ended it, when it was that of a task
# whose record was committed, or of an order to the launcher; and the launcher
# killed what was ending by itself, so that nobody could tell which it was. A
# client waited for ever whose answer had found none.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use BrowserTask::Starved;
use Test::More;

use constant {
	ANSWER_S => 30,
	UNTOUCHED => 3,    # so many without a refusal are the end
};

my $build = $ENV{builddir} // die "builddir is not set\n";
my $program = BrowserTask::Starved->new('supervisord');
plan skip_all => 'a sanitizer has malloc for itself'
    if !$program->has('malloc');

my $i = BrowserTask::Harness->new(scripted => 1,
	programs => { workerd => "$build/t/scenario/scripted",
		supervisord => $program->path })->start;
my @unanswered;

sub supervisord {
	return grep { $_->{state} ne 'Z' && $_->{cmd} =~ /^supervisord\b/ }
	    tree($i->{pid});
}

# A run from its submission to its end: true when a call was refused meanwhile.
# Each request is answered, or the connection closed.
sub place {
	my ($n) = @_;

	$program->arm('malloc', $n, 0, 1);
	my $c = BrowserTask::Client->new($i->client_sock, raw => 1,
		seconds => ANSWER_S);
	eval {
		$c->call('hello', { proto => 1, client => 'test' });
		$c->run('scripted', { do => [ 'item', 'art' ] },
			{ mode => 'sync' });
	};
	push @unanswered, $n if $@ =~ /^no answer/ && !$c->{eof};
	return ($program->disarm)[1];
}

my ($was) = supervisord();
my ($refused, $untouched) = (0, 0);
my $restarted = '';
for (my $n = 1; $untouched < UNTOUCHED && !$restarted && !@unanswered; $n++) {
	$untouched = place($n) ? 0 : $untouched + 1;
	$refused++ if !$untouched;
	my ($now) = supervisord();
	$restarted = "place $n" if !$now || $now->{pid} != $was->{pid};
}
cmp_ok($refused, '>', 50, "memory is refused at $refused places");
is("@unanswered", '', 'each request is answered, or its client dropped');
is($restarted, '', 'and never is supervisord another process');
unlike($i->log, qr/supervisord (?:was )?ended /, 'none of it has ended');
is(client($i)->run('scripted', { do => ['item'] }, { mode => 'sync' })->{status},
	'succeeded', 'a run goes well');
is($i->stop, 0, 'stops');
is(left(60), '', 'no process is left');
done_testing();
