#!/usr/bin/perl
# Any agent of a user could go on in the session that another agent had signed
# in, and list and close it.
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use BrowserTask::Mcp;
use BrowserTask::Scenario;
use BrowserTask::Trap;
use Test::More;

my $build = $ENV{builddir} // '.';
my $form = '<title>login</title><form action="/in"><input name="user">'
    . '<input name="password" type="password"><button>Sign in</button></form>';
my $site = BrowserTask::Trap->new(sub {
	return [ 'text/html', $_[0] eq '/in' ? '<title>in</title>Welcome' : $form ];
});
my $url = 'http://127.0.0.1:' . $site->port . '/';
my $i = BrowserTask::Harness->new(mode => $> == 0 ? 'system' : 'user')->start;

# A run of an agent through an adapter of its own.
sub agent {
	my ($template, $inputs, $opt, @args) = @_;
	my $m = BrowserTask::Mcp->new(instance => $i, args => \@args);

	$m->init;
	my $r = $m->doc($m->tool('run_task_template', {
		templateId => $template, inputs => $inputs,
		options => { mode => 'sync', %{ $opt->{options} // {} } },
		$opt->{session} ? (sessionId => $opt->{session}) : () }));
	$m->eof;
	$m->wait;
	return $r;
}

sub login {
	my ($options, @args) = @_;
	my $r = agent('login_keep_session', { startUrl => $url, credentials =>
		{ username => 'ada', password => 'x1y2z3' } },
	    { options => $options }, @args);
	return $r->{sessionId} // die explain $r;
}

# Whether an agent may go on in the session.
sub goes_on {
	my ($session, @args) = @_;
	my $r = agent('batch_extract_pages', { urls => [ $url ] },
	    { session => $session }, @args);
	return ($r->{errorCode} // $r->{error}{errorCode} // $r->{status});
}

sub listed {
	my (%opt) = @_;
	my $c = BrowserTask::Client->new($i->client_sock, %opt);
	return join ' ', sort map { $_->{sessionId} }
	    @{ $c->call('session.list', {})->{sessions} };
}

my $own = login({}, '--client', 'one');
is(goes_on($own, '--client', 'one'), 'succeeded',
    'an agent of the label goes on in its session');
is(goes_on($own, '--client', 'two'), 'SESSION_NOT_FOUND',
    'one of another label does not');
is(goes_on($own), 'SESSION_NOT_FOUND', 'nor does one of another name');
is(listed(label => 'one'), $own, 'its own are listed');
is(listed(label => 'two'), '', "others' are not");
is(listed(), '', 'nor for a client without a label');
is(listed(label => '*'), $own, 'browsertaskctl sees all');
my $c = BrowserTask::Client->new($i->client_sock, label => 'two');
is($c->call('session.close', { sessionId => $own })->{errorCode},
    'SESSION_NOT_FOUND', 'nobody else closes it');
is($c->call('session.share', { sessionId => $own })->{errorCode},
    'SESSION_NOT_FOUND', 'or shares it');

my ($code, $out) = $i->ctl('sessions', 'share', $own);
is($code, 0, 'browsertaskctl shares it') or diag $out;
is(goes_on($own, '--client', 'two'), 'succeeded', 'now the other one goes on');
is(listed(label => 'two'), $own, 'and sees it');
($code, $out) = $i->ctl('sessions', 'unshare', $own);
is($code, 0, 'and takes that back');
is(goes_on($own, '--client', 'two'), 'SESSION_NOT_FOUND', 'no more');
is_deeply([ map { $_->{detail} } @{ BrowserTask::Client->new($i->admin_sock)
	->call('audit.list', { action => 'session.share' })->{rows} } ],
    [ "$own, not shared", "$own, shared" ], 'both are in the audit log');

my $shared = login({ shareSession => JSON::PP::true }, '--client', 'one');
is(goes_on($shared, '--client', 'two'), 'succeeded',
    'a login with shareSession is for all');

my $default = login({});
is(goes_on($default), 'succeeded',
    'without a label: the same client in the same directory');
is(goes_on($default, '--client', 'one'), 'SESSION_NOT_FOUND', 'no other');
like(listed(label => '*'), qr/\Q$default\E/, 'listed for browsertaskctl');
like(qx($build/mcp/browsertask-mcp --client '*' 2>&1), qr/--client: a label/,
    'an agent does not take all labels');
is(($i->stop // -1) >> 8, 0, 'the service ends well');
done_testing();
